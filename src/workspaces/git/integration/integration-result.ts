import { existsSync, readFileSync } from "node:fs";
import { writeDurablySync } from "../../../files.ts";
import type { ChangedFile, CollectedChanges } from "../copies/collect-changes.ts";
import { layoutOf, refOf, type WorkingCopy } from "../copies/working-copy.ts";
import { GitFailure, namesOf } from "../git-failure.ts";
import { type Place, pathInWorkspace } from "../read-git.ts";
import { runGit } from "../run-git.ts";

export interface RequestedMerge {
  readonly copy: WorkingCopy;
  readonly changes: CollectedChanges;
  /** Patterns, relative to the workspace, that every changed path must match; absent: any path. */
  readonly owns?: readonly string[];
}

/** Why nothing was merged although there is no conflict. */
type RefusedIntegration =
  | "problems"
  | "repository"
  | "source-changed"
  | "changed-meanwhile"
  | "other-file-system"
  | "unwritable"
  | "check-failed";

interface NotMerged {
  /** The paths of the files, relative to the workspace. */
  readonly files: readonly string[];
  /** What happened, where, and what to do next. */
  readonly sentence: string;
  /** The ref of the child's commit; null if it made none. */
  readonly ref: string | null;
  readonly keptIn: KeptIn;
}

export type IntegrationResult =
  | {
      readonly status: "merged";
      /** `nothing`: the child changed nothing. `already`: the target has all changes already. */
      readonly how: "fast-forward" | "three-way" | "already" | "nothing";
      /** The commit with the child's changes. */
      readonly child: string | null;
      /** What changed in the target, with the hashes of its own contents before and after. */
      readonly files: readonly ChangedFile[];
    }
  | ({ readonly status: "conflict" } & NotMerged)
  | ({ readonly status: "violation" } & NotMerged)
  | ({ readonly status: "refused"; readonly reason: RefusedIntegration } & NotMerged);

export type MergedResult = Extract<IntegrationResult, { status: "merged" }>;

/** The last merge of a copy, if any; `child` is the merged commit. */
export function readOutcome({ home, id }: WorkingCopy): MergedResult | undefined {
  const path = layoutOf(home, id).outcome;
  if (!existsSync(path)) return undefined;
  return JSON.parse(readFileSync(path, "utf8")) as MergedResult;
}

export function writeOutcome({ home, id }: WorkingCopy, outcome: MergedResult): void {
  writeDurablySync(layoutOf(home, id).outcome, JSON.stringify(outcome));
}

async function describe(
  { copy, changes }: RequestedMerge,
  place: Place | undefined,
  files: readonly string[],
  sentence: string,
) {
  const { commit } = changes;
  const keptIn =
    commit === null || place === undefined
      ? ("vault" as const)
      : await keepCommits(copy, place, commit);
  return { files, sentence, ref: commit === null ? null : refOf(copy.id), keptIn };
}

/** Refuses a merge: nothing is changed, and the child's commit stays reachable. */
export async function refuse(
  request: RequestedMerge,
  place: Place | undefined,
  {
    files,
    reason,
    sentence,
  }: {
    readonly reason: RefusedIntegration;
    readonly files: readonly string[];
    readonly sentence: string;
  },
): Promise<IntegrationResult> {
  const common = await describe(request, place, files, sentence);
  return { status: "refused", reason, ...common };
}

export async function violate(
  request: RequestedMerge,
  place: Place | undefined,
  files: readonly string[],
): Promise<IntegrationResult> {
  const owned = (request.owns ?? []).join(", ") || "nothing";
  const sentence = `${namesOf(files)} was changed and does not belong to this step, which owns ${owned}.`;
  return { status: "violation", ...(await describe(request, place, files, sentence)) };
}

export async function conflict(
  request: RequestedMerge,
  place: Place,
  found: readonly string[],
): Promise<IntegrationResult> {
  const { prefix } = request.copy.source;
  const files = found.map((path) => pathInWorkspace(prefix, path));
  const sentence = `${namesOf(files)} was changed on both sides and cannot be merged. Merge by hand from ${refOf(request.copy.id)}.`;
  return { status: "conflict", ...(await describe(request, place, files, sentence)) };
}

const maximumBytes = 256 * 1024 * 1024;

/** Adds a commit to the person's repository, with all objects that it lacks. Moves no ref. */
async function handOverCommits(
  copy: WorkingCopy,
  gitDirectory: string,
  commit: string,
  known: readonly string[],
): Promise<void> {
  const wanted = [commit, ...known.map((object) => `^${object}`)].join("\n");
  const pack = await runGit(["pack-objects", "--revs", "--stdout", "-q"], {
    gitDirectory: layoutOf(copy.home, copy.id).vault,
    input: `${wanted}\n`,
    maximumBytes,
  });
  await runGit(["index-pack", "--stdin"], { gitDirectory, input: pack.stdout });
}

export type KeptIn = "repository" | "vault";

/**
 * Makes unmerged work reachable for the person: as `refs/mandate/<id>` in their repository, or
 * otherwise in the vault of the copy, which has it in any case.
 */
async function keepCommits(copy: WorkingCopy, place: Place, commit: string): Promise<KeptIn> {
  if (place.kind !== "git") return "vault";
  const { gitDirectory } = place;
  try {
    const known = copy.head === null ? [] : [copy.head];
    await handOverCommits(copy, gitDirectory, commit, known);
    await runGit(["update-ref", refOf(copy.id), commit], { gitDirectory });
    return "repository";
  } catch (error) {
    // A read-only or damaged repository must not hide the reason why the merge failed.
    if (error instanceof GitFailure) return "vault";
    throw error;
  }
}
