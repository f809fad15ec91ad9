import { type Cause, describeCause } from "../../events/cause.ts";
import type { FileEvidence } from "../../events/event.ts";
import type { ChangedFile, CollectedChanges } from "../../workspaces/git/copies/collect-changes.ts";
import type { WorkingCopies } from "../../workspaces/git/copies/working-copies.ts";
import type { WorkingCopy } from "../../workspaces/git/copies/working-copy.ts";
import type { IntegrationResult } from "../../workspaces/git/integration/integration-result.ts";
import type { RecordedDelegation, Recording } from "./recording.ts";

/** The copy that a delegation had, by name only: there is no folder behind it. */
export function recordedCopy({ contract }: RecordedDelegation): WorkingCopy | null {
  const { base, copy, root } = contract.workspace;
  if (copy === undefined) return null;
  return {
    id: copy.id,
    home: "",
    folder: root ?? "",
    root: root ?? "",
    source: { kind: "folder", toplevel: copy.of, prefix: "" },
    head: null,
    base: base ?? "",
    baseTree: "",
    dirty: false,
    objects: [],
    omitted: [],
  };
}

/** Copies and merges as the log tells of them, without git and without a single file. */
export function recordedCopies(recording: Recording): WorkingCopies {
  const inCopy = (id: string) => {
    const found = [...recording.delegations.values()].filter(
      ({ contract }) => contract.workspace.copy?.id === id,
    );
    return found.at(-1);
  };
  const copies: Partial<WorkingCopies> = {
    has: (id) => inCopy(id) !== undefined && !isGone(inCopy(id)),
    take(id) {
      const copy = recordedCopy(inCopy(id) ?? missing(id));
      return copy ?? missing(id);
    },
    async collect({ id }) {
      const end = endingOf(inCopy(id) ?? missing(id));
      if (end.trouble !== undefined) throw new Error(end.trouble);
      return {
        commit: end.merge?.payload.commit ?? null,
        tree: "",
        files: end.files,
        problems: [],
      };
    },
    async diff({ id }) {
      const { merge } = endingOf(inCopy(id) ?? missing(id));
      const hash = merge?.payload.diff?.hash;
      return { text: recording.artifacts.get(hash ?? "") ?? "" } as Diff;
    },
    async integrate({ changes, copy }) {
      const end = endingOf(inCopy(copy.id) ?? missing(copy.id));
      return integrationOf(end, changes);
    },
    async remove() {},
    retire() {},
  };
  // A class has its own idea of who is one; what the engine calls of it is all here.
  return copies as WorkingCopies;
}

type Diff = Awaited<ReturnType<WorkingCopies["diff"]>>;

function missing(id: string): never {
  throw new Error(`The recording has no working copy ${id}.`);
}

function isGone(delegation: RecordedDelegation | undefined): boolean {
  return endingOf(delegation ?? missing("")).cause?.code === "working_copy_gone";
}

/** How what it made was received. */
function endingOf({ events }: RecordedDelegation) {
  const merge = events.find((event) => event.type === "agent.worktree_merged");
  const failed = events.find((event) => event.type === "agent.subagent_failed");
  const closed = events.find((event) => event.type === "agent.subagent_closed");
  const { files = [], files_total: total = files.length } = closed?.payload.seal ?? {};
  const cause = failed?.payload.cause;
  return {
    merge,
    cause,
    files: Array.from({ length: total }, (_, index) => asChanged(files[index])),
    trouble: cause?.code === "changes_not_merged" ? cause.text : undefined,
  };
}

/** A seal names five hundred at most; of the others it is known that there were some. */
function asChanged(file: FileEvidence | undefined): ChangedFile {
  return { path: "", before: null, after: null, ...file, mode: "file" };
}

function integrationOf(
  { cause, merge }: ReturnType<typeof endingOf>,
  { commit }: CollectedChanges,
): IntegrationResult {
  const { conflicted_files: conflicted = [], files = [], strategy } = merge?.payload ?? {};
  if (cause === undefined) {
    const how = strategy as Extract<IntegrationResult, { status: "merged" }>["how"];
    return { status: "merged", how, child: commit, files: files.map(asChanged), commit: null };
  }
  const kept = {
    files: conflicted,
    sentence: "text" in cause ? cause.text : describeCause(cause),
    ref: null,
    keptIn: "vault" as const,
  };
  if (strategy === "conflict" || strategy === "violation") return { status: strategy, ...kept };
  return { status: "refused", reason: reasons[cause.code] ?? "repository", ...kept };
}

type Refused = Extract<IntegrationResult, { status: "refused" }>["reason"];

const reasons: { readonly [Code in Cause["code"]]?: Refused } = {
  changes_refused: "problems",
  check_failed: "check-failed",
};
