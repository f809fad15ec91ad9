import { posix } from "node:path";
import {
  type CollectedChanges,
  collectChanges,
} from "../../workspaces/git/copies/collect-changes.ts";
import { diffOf } from "../../workspaces/git/copies/diff-of.ts";
import { findWork, type KeptWorkParts, reasonFor, type Work } from "./kept-work.ts";
import { NoKeptWork } from "./no-kept-work.ts";
import { type PatchSection, patchSections } from "./patch-sections.ts";

export interface DiffedFile {
  /** Relative to the repository or folder that was copied, as in the text. */
  readonly path: string;
  readonly change: PatchSection["change"];
  /** Null: it is no text, or its lines are beyond where the text was cut. */
  readonly lines: { readonly added: number; readonly removed: number } | null;
}

/** What a delegation changed, as people read it. */
export interface DelegationDiff {
  readonly runId: string;
  readonly delegationId: string;
  readonly status: "created" | "running" | "waiting_for_merge" | "completed" | "failed";
  /** `copy`: as its working copy is now; `log`: as it was when it was to be merged. */
  readonly source: "copy" | "log";
  readonly files: readonly DiffedFile[];
  readonly text: string;
  readonly truncated: boolean;
  /** What is not in the diff or keeps it from being merged, in sentences. */
  readonly problems: readonly string[];
}

export interface DiffOptions {
  /** Of the text. */
  readonly maximumBytes?: number;
  readonly signal?: AbortSignal;
}

const defaultMaximumBytes = 16 * 1024 * 1024;

/**
 * From the working copy while there is one, also of a child that is still at work: then it is a
 * snapshot. Otherwise from the log. Throws `NoKeptWork` where neither has anything.
 */
export async function diffOfDelegation(
  parts: KeptWorkParts,
  id: string,
  options: DiffOptions = {},
): Promise<DelegationDiff> {
  const work = await findWork(parts, id, hasDiff);
  const { delegation, runId } = work;
  const status = delegation.status === "closed" ? delegation.finalStatus : delegation.status;
  const about = { runId, delegationId: delegation.id, status };
  return { ...about, ...((await fromCopy(work, options)) ?? (await fromLog(parts, work))) };
}

function hasDiff({ copy, merge }: Work): boolean {
  return copy !== undefined || merge?.payload.diff !== undefined;
}

type Diff = Omit<DelegationDiff, "runId" | "delegationId" | "status">;

async function fromCopy({ copy }: Work, options: DiffOptions): Promise<Diff | undefined> {
  if (copy === undefined) return undefined;
  const { maximumBytes = defaultMaximumBytes, signal } = options;
  const changes = await collectChanges(copy, signal === undefined ? {} : { signal });
  const { text, truncated } = await diffOf(copy, changes, maximumBytes);
  return {
    source: "copy",
    files: describeFiles(copy.source.prefix, changes, text),
    ...{ text, truncated },
    problems: changes.problems.map(({ sentence }) => sentence),
  };
}

/** Both are in git's order; the text may end before the list does. */
function describeFiles(
  prefix: string,
  { files }: CollectedChanges,
  text: string,
): readonly DiffedFile[] {
  const { sections } = patchSections(text);
  const lines = new Map(sections.map((section) => [section.path, section.lines]));
  return files.map(({ path, before, after }) => {
    const change = before === null ? "added" : after === null ? "removed" : "changed";
    const place = posix.join(prefix, path);
    return { path: place, change, lines: lines.get(place) ?? null };
  });
}

async function fromLog(parts: KeptWorkParts, work: Work): Promise<Diff> {
  const { delegation, merge } = work;
  const reference = merge?.payload.diff;
  if (reference === undefined) throw new NoKeptWork(delegation.id, await reasonFor(parts, work));
  const text = await parts.store.readArtifact(reference.hash);
  if (text === undefined) throw new NoKeptWork(delegation.id, "lost");
  const { sections, isWhole } = patchSections(text);
  const isCut = !isWhole || sections.length < (merge?.payload.files?.length ?? 0);
  return { source: "log", files: sections, text, truncated: isCut, problems: [] };
}
