import type { CloseReason } from "../close-reason.ts";
import type { EventPayloads, EventType, StoredEvent } from "../event.ts";
import type { CheckedRun, Known, RunCheck } from "./checked-run.ts";

type Merge = EventPayloads["agent.worktree_merged"];

/** The events that matter here; most events do not. */
const ofMerges: ReadonlySet<EventType> = new Set([
  ...(["agent.worktree_merged", "agent.subagent_completed"] as const),
  ...(["agent.subagent_failed", "agent.subagent_closed"] as const),
]);

/** The merge strategies, and whether each changes files. */
const merged: Readonly<Record<string, { readonly changes: boolean }>> = {
  kept: { changes: false },
  "fast-forward": { changes: true },
  "three-way": { changes: true },
  already: { changes: false },
  nothing: { changes: false },
};

const notMerged: ReadonlySet<string> = new Set(["conflict", "violation", "refused"]);

/** The close reason of each failed merge, by its strategy. */
const reasonOf: Readonly<Record<string, CloseReason>> = {
  conflict: "merge_conflict",
  violation: "ownership_violation",
};

/** Close reasons from outside, which can win over the result of a merge. */
const interruptions: ReadonlySet<CloseReason> = new Set([
  ...(["cancelled", "timeout", "parent_closed", "parent_crash"] as const),
  ...(["worker_lost", "storage_full", "merge_interrupted"] as const),
]);

/**
 * I16: the changes of a child are merged at most once, and only from its own working copy. I6: it closes
 * with the result of its merge. (I4 checks that it is merged after it has handed in its output.)
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
    yield "It is merged, but has no working copy.";
  }
  if (strategy === "kept" && contract?.workspace.keep !== true) {
    yield "Its changes were kept, but its contract has them merged.";
  }
  if (before.some(isMerged)) yield "It is merged a second time.";
  const way = wayOf(strategy);
  if (way === undefined && !notMerged.has(strategy))
    yield `There is no merge strategy "${strategy}".`;
  if (way?.changes !== true && files.length > 0) {
    yield `It is merged as "${strategy}", but files are changed by that.`;
  }
  if (way !== undefined && conflicts.length > 0) {
    yield `It is merged as "${strategy}" over conflicts in ${conflicts.length} files.`;
  }
  // Every merge has a commit of the child, which a person can inspect and undo.
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
  if (integrator === "git" && !hasMerged)
    return "It is completed by a merge that is not in the log.";
  if (integrator !== "git" && hasMerged) {
    return `It was merged, but is completed by ${integrator}.`;
  }
  if (!hasMerged && (before.length > 0 || contract?.workspace.copy !== undefined)) {
    return "It is completed, but its changes were not merged.";
  }
  return undefined;
}

function failureProblem(code: CloseReason, before: readonly Merge[]): string | undefined {
  if (before.some(({ strategy }) => wayOf(strategy)?.changes === true)) {
    return "It failed after its changes were merged.";
  }
  const found = reasonOf[before.at(-1)?.strategy ?? ""];
  if (Object.values(reasonOf).includes(code) && found !== code) {
    return `It failed for ${code}, but no merge had that result.`;
  }
  if (found === undefined || found === code || interruptions.has(code)) return undefined;
  return `Its merge ended with ${found}, but it failed for ${code}.`;
}

function isMerged({ strategy }: Merge): boolean {
  return wayOf(strategy) !== undefined;
}

/** A stored strategy may be any text, even the name of an inherited property. */
function wayOf(strategy: string): { readonly changes: boolean } | undefined {
  return Object.hasOwn(merged, strategy) ? merged[strategy] : undefined;
}

/** The course of a child, by sequence numbers. */
interface Course {
  readonly created: number;
  handedIn?: number;
  merged?: number;
}

interface Call {
  readonly started: number;
  /** When an earlier call last asked for children. */
  readonly askedBefore: number;
  isAlone: boolean;
}

/** By planner: the rank of each step in the order of merges, where it differs from the index. */
type Ranks = Map<string, Map<number, number>>;

interface Calls {
  readonly open: Map<string, Call>;
  askedLast: number;
}

/**
 * I16: children that one call waits for are merged in the order of their steps, whatever the order in which
 * they finished. Only checked where no other call can have asked for them: another call may have merged
 * its child before, and the log does not tell when a merge began.
 */
export function checkMergeOrder(run: CheckedRun): RunCheck {
  const courses = new Map<Known, Course>();
  const callsOf = new Map<Known, Calls>();
  const ranks: Ranks = new Map();
  const rankOf = ({ created }: Known): number =>
    ranks.get(created.parent_id ?? "")?.get(created.step_idx) ?? created.step_idx;

  function begin(parent: Known, { payload, seq }: StoredEvent<"agent.tool_started">): void {
    const calls = callsOf.get(parent) ?? { open: new Map<string, Call>(), askedLast: 0 };
    callsOf.set(parent, calls);
    const call = { started: seq, askedBefore: calls.askedLast, isAlone: calls.open.size === 0 };
    for (const other of calls.open.values()) other.isAlone = false;
    calls.open.set(payload.call_id, call);
    if (payload.polls === "results") calls.askedLast = seq;
  }

  function* outOfOrder(parent: Known, call: Call, ids: readonly string[]): Generator<Known> {
    const children = ids
      .flatMap((id) => run.delegations.get(id) ?? [])
      .filter((child) => child.parent === parent && mergedAt(child) > call.started)
      .sort((left, right) => mergedAt(left) - mergedAt(right));
    let highest: Known | undefined;
    for (const child of children) {
      const isLate = highest !== undefined && rankOf(child) < rankOf(highest);
      if (!isLate) highest = child;
      else if (highest !== undefined && isAskedForBy(call, highest)) yield child;
    }
  }

  const mergedAt = (child: Known): number => courses.get(child)?.merged ?? 0;
  const isAskedForBy = (call: Call, child: Known): boolean => {
    const { created = 0, handedIn = 0 } = courses.get(child) ?? {};
    return handedIn > call.started || created > call.askedBefore;
  };

  return {
    see(event, delegation) {
      if (event.type === "run.planned") noteRanks(ranks, event.payload);
      if (delegation === undefined) return;
      if (event.type === "agent.subagent_created") {
        if (delegation.contract?.workspace.copy === undefined) return;
        courses.set(delegation, { created: event.seq });
      }
      // Calls before the first child with a working copy do not matter.
      if (courses.size === 0) return;
      const course = courses.get(delegation);
      switch (event.type) {
        case "agent.subagent_waiting_for_merge":
          if (course) course.handedIn = event.seq;
          break;
        case "agent.worktree_merged":
          // Without changed files the order does not matter.
          if (course && (event.payload.files?.length ?? 0) > 0) course.merged = event.seq;
          break;
        case "agent.tool_started":
          begin(delegation, event);
          break;
        case "agent.tool_completed": {
          const { call_id: id, delivered = [] } = event.payload;
          const call = callsOf.get(delegation)?.open.get(id);
          callsOf.get(delegation)?.open.delete(id);
          if (!call?.isAlone || delivered.length < 2) break;
          for (const child of outOfOrder(delegation, call, delivered)) {
            const message = `It is step ${child.created.step_idx}, but was merged after a later step.`;
            run.report("I16", message, { delegationId: child.id, seq: event.seq });
          }
          break;
        }
        case "agent.interrupted":
          // Children that continue are merged, and earlier steps start after the resumption.
          for (const call of callsOf.get(delegation)?.open.values() ?? []) call.isAlone = false;
          break;
        case "agent.tool_failed":
        case "agent.tool_outcome_unknown":
          callsOf.get(delegation)?.open.delete(event.payload.call_id);
          break;
        case "agent.subagent_closed":
          callsOf.delete(delegation);
          break;
        default:
      }
    },
  };
}

function noteRanks(ranks: Ranks, plan: EventPayloads["run.planned"]): void {
  const { by, first_step: first, merge_order: order } = plan;
  if (first === undefined || order === undefined) return;
  const of = ranks.get(by) ?? new Map<number, number>();
  ranks.set(by, of);
  for (const [rank, place] of order.entries()) of.set(first + place, first + rank);
}
