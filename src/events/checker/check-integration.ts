import type { CloseReason } from "../close-reason.ts";
import type { EventPayloads, EventType } from "../event.ts";
import type { CheckedRun, Known, RunCheck } from "./checked-run.ts";

type Merge = EventPayloads["agent.worktree_merged"];

/** Few events are about merges, and all are looked at. */
const ofMerges: ReadonlySet<EventType> = new Set([
  ...(["agent.worktree_merged", "agent.subagent_completed"] as const),
  ...(["agent.subagent_failed", "agent.subagent_closed"] as const),
]);

/** How files are taken over, and whether that changes any. */
const merged: Readonly<Record<string, { readonly changes: boolean }>> = {
  "fast-forward": { changes: true },
  "three-way": { changes: true },
  already: { changes: false },
  nothing: { changes: false },
};

const notMerged: ReadonlySet<string> = new Set(["conflict", "violation", "refused"]);

/** What a failure of the merge itself is called, and the finding that it stands for. */
const reasonOf: Readonly<Record<string, CloseReason>> = {
  conflict: "merge_conflict",
  violation: "ownership_violation",
};

/** What comes from outside and can end a delegation whatever its merge has found. */
const interruptions: ReadonlySet<CloseReason> = new Set([
  ...(["cancelled", "timeout", "parent_closed", "parent_crash"] as const),
  ...(["worker_lost", "storage_full", "merge_interrupted"] as const),
]);

/**
 * I16: what a child made is taken over once, and only what was made in a copy of its own. I6: it
 * ends as its merge did. (That it is merged only after it has handed in its output is I4's.)
 */
export function checkIntegration({ report }: CheckedRun): RunCheck {
  const merges = new Map<Known, Merge[]>();
  return {
    see(event, delegation) {
      if (delegation === undefined || !ofMerges.has(event.type)) return;
      const where = { delegationId: delegation.id, seq: event.seq };
      const before = merges.get(delegation) ?? [];
      switch (event.type) {
        case "agent.worktree_merged":
          for (const problem of problemsOf(event.payload, delegation, before)) {
            report("I16", problem, where);
          }
          merges.set(delegation, [...before, event.payload]);
          break;
        case "agent.subagent_completed": {
          const problem = completionProblem(event.payload.integrator, delegation, before);
          if (problem) report("I6", problem, where);
          break;
        }
        case "agent.subagent_failed": {
          const problem = failureProblem(event.payload.code, before);
          if (problem) report("I6", problem, where);
          break;
        }
        case "agent.subagent_closed":
          merges.delete(delegation);
          break;
        default:
      }
    },
  };
}

function* problemsOf(
  { commit, conflicted_files: conflicts, files = [], strategy }: Merge,
  { contract }: Known,
  before: readonly Merge[],
): Generator<string> {
  if (contract && contract.workspace.copy === undefined) {
    yield "It is merged, and has no copy of its own to be merged from.";
  }
  if (before.some(isMerged)) yield "It is merged again after it was merged.";
  const way = wayOf(strategy);
  if (way === undefined && !notMerged.has(strategy))
    yield `There is no way to merge "${strategy}".`;
  if (way?.changes !== true && files.length > 0) {
    yield `It is merged as "${strategy}", and yet files are changed by that.`;
  }
  if (way !== undefined && conflicts.length > 0) {
    yield `It is merged as "${strategy}" over conflicts in ${conflicts.length} files.`;
  }
  // Nothing is taken over that is not a commit first: it is what a person can look at and undo.
  if (way !== undefined && (commit === null) !== (strategy === "nothing")) {
    yield `It is merged as "${strategy}" ${commit === null ? "without" : "with"} a commit of its own.`;
  }
}

function completionProblem(
  integrator: string,
  { contract }: Known,
  before: readonly Merge[],
): string | undefined {
  const hasMerged = before.some(isMerged);
  if (integrator === "git" && !hasMerged) return "It is completed by a merge that never was.";
  if (integrator !== "git" && hasMerged) {
    return `It was merged, and is completed by ${integrator}.`;
  }
  if (!hasMerged && (before.length > 0 || contract?.workspace.copy !== undefined)) {
    return "It is completed, and what it made was not taken over.";
  }
  return undefined;
}

function failureProblem(code: CloseReason, before: readonly Merge[]): string | undefined {
  if (before.some(({ strategy }) => wayOf(strategy)?.changes === true)) {
    return "It failed after its changes were taken over.";
  }
  const found = reasonOf[before.at(-1)?.strategy ?? ""];
  if (Object.values(reasonOf).includes(code) && found !== code) {
    return `It failed for ${code}, and no merge found that.`;
  }
  if (found === undefined || found === code || interruptions.has(code)) return undefined;
  return `Its merge ended in ${found}, and it failed for ${code}.`;
}

function isMerged({ strategy }: Merge): boolean {
  return wayOf(strategy) !== undefined;
}

/** A stored word may be anything, also the name of something that every object has. */
function wayOf(strategy: string): { readonly changes: boolean } | undefined {
  return Object.hasOwn(merged, strategy) ? merged[strategy] : undefined;
}
