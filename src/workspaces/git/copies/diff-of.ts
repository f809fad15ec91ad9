import { randomBytes } from "node:crypto";
import { RepositoryRefused } from "../git-failure.ts";
import { inspectRepository } from "../inspect-repository.ts";
import { askGit, runGit } from "../run-git.ts";
import type { CollectedChanges } from "./collect-changes.ts";
import { createWorkingCopy } from "./create-working-copy.ts";
import { discardWorkingCopy } from "./discard-working-copy.ts";
import { layoutOf, type WorkingCopy } from "./working-copy.ts";

export interface UnifiedDiff {
  readonly text: string;
  /** Cut off at the limit, at the end of a line. */
  readonly truncated: boolean;
}

/** The changes of a child as a unified diff. Runs no external diff and no text conversion. */
export async function diffOf(
  copy: WorkingCopy,
  changes: CollectedChanges,
  maximumBytes: number = 1024 * 1024,
): Promise<UnifiedDiff> {
  if (changes.tree === copy.baseTree) return { text: "", truncated: false };
  const { vault } = layoutOf(copy.home, copy.id);
  return diffTrees(vault, [copy.baseTree, changes.tree], maximumBytes);
}

const revision = /^[A-Za-z0-9_][\w./~^@{}-]{0,200}$/;
const options = ["diff-tree", "-p", "-r", "--no-ext-diff", "--no-textconv", "--no-color"];

/**
 * The changes of a folder since its last commit, or between two commits (`main..topic`). Runs no
 * filter, driver or hook, and writes nothing in the repository.
 */
export async function diffOfFolder(
  { folder, home, range }: { folder: string; home: string; range?: string | undefined },
  maximumBytes: number = 256 * 1024,
): Promise<UnifiedDiff> {
  if (range !== undefined) return diffOfRange(folder, home, range, maximumBytes);
  const id = `diff-${randomBytes(6).toString("hex")}`;
  const copy = await createWorkingCopy({ source: folder, id, home });
  try {
    if (copy.head === null)
      throw refused("This folder has no commit yet, so there is nothing to compare with.");
    const trees = [copy.head, copy.base, ...scope(copy.source.prefix)];
    return await diffTrees(layoutOf(home, id).vault, trees, maximumBytes);
  } finally {
    await discardWorkingCopy(copy, { unmerged: "delete" });
  }
}

async function diffOfRange(
  folder: string,
  home: string,
  range: string,
  maximumBytes: number,
): Promise<UnifiedDiff> {
  const { place } = await inspectRepository(folder, home);
  if (place.kind !== "git") throw refused("This folder has no history.");
  const [from = "", to = "HEAD"] = range.split(/\.{2,3}/);
  const context = { gitDirectory: place.gitDirectory };
  const commits = await Promise.all([from, to].map((name) => commitOf(name, context)));
  return diffTrees(place.gitDirectory, [...commits, ...scope(place.prefix)], maximumBytes);
}

async function commitOf(name: string, context: { gitDirectory: string }): Promise<string> {
  if (!revision.test(name)) throw refused(`"${name}" is not a valid name of a commit.`);
  const args = ["rev-parse", "--verify", "--quiet", "--end-of-options", `${name}^{commit}`];
  const commit = await askGit(args, { ...context, answers: [1] });
  if (commit === "") throw refused(`There is no commit "${name}".`);
  return commit;
}

function scope(prefix: string): readonly string[] {
  return prefix === "" ? ["--"] : ["--", `:(literal)${prefix}`];
}

async function diffTrees(
  gitDirectory: string,
  trees: readonly string[],
  maximumBytes: number,
): Promise<UnifiedDiff> {
  const context = { gitDirectory, cutAtMaximum: true, maximumBytes };
  const { cut, stdout } = await runGit([...options, ...trees], context);
  const end = cut ? stdout.lastIndexOf(10) + 1 : stdout.length;
  return { text: stdout.toString("utf8", 0, end), truncated: cut };
}

function refused(sentence: string): RepositoryRefused {
  return new RepositoryRefused({ code: "range-unknown", sentence });
}
