import { posix } from "node:path";
import { NoKeptWork } from "../../ports/mandate-error.ts";
import { collectChanges } from "../../workspaces/git/copies/collect-changes.ts";
import { diffOf } from "../../workspaces/git/copies/diff-of.ts";
import type { WorkingCopy } from "../../workspaces/git/copies/working-copy.ts";
import { findWork, type KeptWorkParts, reasonFor, type Work } from "./find-work.ts";

export interface DiffedFile {
  /** Relative to the copied repository or folder, as in the text. */
  readonly path: string;
  readonly change: "added" | "changed" | "removed";
  /** Null: the file is binary, or its lines are after the place where the text was cut. */
  readonly lines: { readonly added: number; readonly removed: number } | null;
}

/** The changes of a delegation, for people to read. */
export interface DelegationDiff {
  readonly runId: string;
  readonly delegationId: string;
  readonly status: "created" | "running" | "waiting_for_merge" | "completed" | "failed";
  /** `copy`: the working copy as it is now; `log`: the changes as they were before the merge. */
  readonly source: "copy" | "log";
  readonly files: readonly DiffedFile[];
  readonly text: string;
  readonly truncated: boolean;
  /** Sentences: changes that are not in the diff, or that cannot be merged. */
  readonly problems: readonly string[];
}

export interface DiffOptions {
  /** The longest text, in bytes. */
  readonly maximumBytes?: number;
  readonly signal?: AbortSignal;
}

const defaultMaximumBytes = 16 * 1024 * 1024;

/**
 * The diff of the working copy if it exists, also of a running child; otherwise the diff in the
 * log. Throws `NoKeptWork` without either.
 */
export async function diffOfDelegation(
  parts: KeptWorkParts,
  id: string,
  options: DiffOptions = {},
): Promise<DelegationDiff> {
  const hasDiff = ({ copy, merge }: Work): boolean =>
    copy !== undefined || merge?.payload.diff !== undefined;
  const work = await findWork(parts, id, hasDiff);
  const { copy, delegation, runId } = work;
  const status = delegation.status === "closed" ? delegation.finalStatus : delegation.status;
  const diff = copy === undefined ? await fromLog(parts, work) : await fromCopy(copy, options);
  return { runId, delegationId: delegation.id, status, ...diff };
}

type Diff = Omit<DelegationDiff, "runId" | "delegationId" | "status">;

async function fromCopy(
  copy: WorkingCopy,
  { maximumBytes = defaultMaximumBytes, signal }: DiffOptions,
): Promise<Diff> {
  const changes = await collectChanges(copy, signal === undefined ? {} : { signal });
  const { text, truncated } = await diffOf(copy, changes, maximumBytes);
  const { sections } = patchSections(text);
  const lines = new Map(sections.map((section) => [section.path, section.lines]));
  const files = changes.files.map(({ path, before, after }): DiffedFile => {
    const change = before === null ? "added" : after === null ? "removed" : "changed";
    const place = posix.join(copy.source.prefix, path);
    return { path: place, change, lines: lines.get(place) ?? null };
  });
  const problems = changes.problems.map(({ sentence }) => sentence);
  return { source: "copy", files, text, truncated, problems };
}

async function fromLog(parts: KeptWorkParts, work: Work): Promise<Diff> {
  const { delegation, merge } = work;
  const reference = merge?.payload.diff;
  if (reference === undefined) throw new NoKeptWork(delegation.id, await reasonFor(parts, work));
  const text = await parts.store.readArtifact(reference.hash);
  if (text === undefined) throw new NoKeptWork(delegation.id, "lost");
  const { sections, isWhole } = patchSections(text);
  const truncated = !isWhole || sections.length < (merge?.payload.files?.length ?? 0);
  return { source: "log", files: sections, text, truncated, problems: [] };
}

interface Draft {
  readonly path: string;
  change: DiffedFile["change"];
  added: number;
  removed: number;
  isBinary: boolean;
  /** A file that became a link has two sections: one removes the file, one adds the link. */
  isReplaced: boolean;
}

/**
 * The files of a unified diff as git writes it. Lines of a hunk begin with one of `+- \`, so no
 * content can pass for a header. `isWhole`: the last hunk has all the lines that its header counts.
 */
export function patchSections(text: string): {
  readonly sections: readonly DiffedFile[];
  readonly isWhole: boolean;
} {
  const drafts: Draft[] = [];
  let draft: Draft | undefined;
  let left = { removed: 0, added: 0 };
  for (const line of text.split("\n")) {
    if (line.startsWith("diff --git ")) {
      const path = pathOf(line.slice("diff --git ".length));
      left = { removed: 0, added: 0 };
      if (draft?.path === path) draft.isReplaced = true;
      else {
        const counts = { added: 0, removed: 0 };
        draft = { path, change: "changed", ...counts, isBinary: false, isReplaced: false };
        drafts.push(draft);
      }
      continue;
    }
    if (draft === undefined) continue;
    const hunk = /^@@ -\d+(?:,(\d+))? \+\d+(?:,(\d+))? @@/.exec(line);
    if (hunk) left = { removed: Number(hunk[1] ?? 1), added: Number(hunk[2] ?? 1) };
    else if (left.removed > 0 || left.added > 0) {
      const isContext = line.startsWith(" ");
      if (isContext || line.startsWith("+")) left.added -= 1;
      if (isContext || line.startsWith("-")) left.removed -= 1;
      if (line.startsWith("+")) draft.added += 1;
      if (line.startsWith("-")) draft.removed += 1;
    } else if (line.startsWith("new file mode")) draft.change = "added";
    else if (line.startsWith("deleted file mode")) draft.change = "removed";
    else if (/^Binary files .* differ$/.test(line)) draft.isBinary = true;
  }
  const sections = drafts.map(({ path, added, removed, ...about }): DiffedFile => {
    const change = about.isReplaced ? "changed" : about.change;
    return { path, change, lines: about.isBinary ? null : { added, removed } };
  });
  return { sections, isWhole: left.removed === 0 && left.added === 0 };
}

/** The path in `a/NAME b/NAME`; both names are equal, since renames are not looked for. */
function pathOf(names: string): string {
  const half = names.slice(0, (names.length - 1) / 2);
  return half.startsWith('"') ? unquote(half.slice(3, -1)) : half.slice(2);
}

const escapes = new Map(
  Object.entries({ a: "\x07", b: "\b", t: "\t", n: "\n", v: "\v", f: "\f", r: "\r" }),
);

/** Git quotes unusual names as C strings. */
function unquote(quoted: string): string {
  const parts = quoted.match(/\\[0-7]{3}|\\.|[^\\]+/gs) ?? [];
  const bytes = parts.map((part) => {
    if (/^\\[0-7]{3}$/.test(part)) return Buffer.of(Number.parseInt(part.slice(1), 8));
    return Buffer.from(
      part.startsWith("\\") ? (escapes.get(part.charAt(1)) ?? part.charAt(1)) : part,
    );
  });
  return Buffer.concat(bytes).toString("utf8");
}
