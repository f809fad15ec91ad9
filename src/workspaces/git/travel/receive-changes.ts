import { existsSync, mkdirSync, readdirSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { headOf } from "../../../text.ts";
import { type ChangeProblem, changeProblem } from "../copies/change-problem.ts";
import { collectChanges } from "../copies/collect-changes.ts";
import { checkOutCopy, createVault, moveRef } from "../copies/vault.ts";
import {
  copyIndex,
  layoutOf,
  readClaim,
  readCopyRecord,
  refOf,
  type WorkingCopy,
  worktreesOf,
} from "../copies/working-copy.ts";
import { GitFailure } from "../git-failure.ts";
import { removeFolder } from "../remove-folder.ts";
import { askGit, runGit, withOwnIndex } from "../run-git.ts";
import { damagedBundle, type GitBundle, openChanges } from "./git-bundle.ts";

/** What another machine says of the work that it sent, besides the work itself. */
export interface ReceivedChanges {
  readonly commit: string | null;
  /** What was left out there, or must not be merged: it cannot be seen here any more. */
  readonly problems: readonly ChangeProblem[];
}

/**
 * Puts the work that was done elsewhere into the copy here, as if the child had worked in it: its
 * files are then collected and judged like any child's. What was in the copy is replaced. Nothing
 * is believed: the commit must stand on the copy's own base alone, bring what it is made of and
 * nothing more, and its files must be what is collected of them. May be repeated after a crash.
 */
export async function receiveChanges(copy: WorkingCopy, text: string): Promise<ReceivedChanges> {
  const { bundle, header } = openChanges(text);
  if (header.base !== copy.base) {
    throw damagedBundle("it stands on another state than the one that was agreed");
  }
  const { commit } = header;
  const problems = header.problems.map(({ kind, paths }) => changeProblem(kind, paths));
  const before = existsSync(copy.folder) ? await collectChanges(copy) : undefined;
  // It was done in this very copy, or has been received before.
  if (before?.commit === commit) return { commit, problems };
  const isUntouched =
    before?.commit === null && before.problems.length === 0 && readClaim(copy.home, copy.id) === 0;
  try {
    let tree = copy.baseTree;
    if (bundle !== null && commit !== null) {
      await takeIn(copy, bundle, commit);
      tree = await askGit(["rev-parse", `${commit}^{tree}`], vaultOf(copy));
    }
    if (!isUntouched || !(await goForward(copy, tree))) await layOut(copy, tree);
    // Last: with this it has been received.
    moveRef(vaultOf(copy).gitDirectory, refOf(copy.id), commit);
  } catch (error) {
    if (!(error instanceof GitFailure) || error.kind !== "exit") throw error;
    const said = error.stderr.trim().split("\n")[0] ?? "";
    throw damagedBundle(`its files cannot be laid out (${headOf(said, 200)})`, error);
  }
  if ((await collectChanges(copy)).commit !== commit) {
    throw damagedBundle("its files are not those of its commit");
  }
  return { commit, problems };
}

function vaultOf({ home, id }: WorkingCopy): { readonly gitDirectory: string } {
  return { gitDirectory: layoutOf(home, id).vault };
}

async function takeIn(
  copy: WorkingCopy,
  bundle: NonNullable<ReturnType<typeof openChanges>["bundle"]>,
  commit: string,
): Promise<void> {
  const { own, vault } = layoutOf(copy.home, copy.id);
  const shallow = readCopyRecord(copy.home, copy.id)?.shallow ?? "";
  const into = join(own, "incoming.git");
  await receivePack({
    ...{ into, bundle, commit, known: copy.base, objects: copy.objects, shallow },
  });
  try {
    const parents = await askGit(["log", "-1", "--format=%P", commit, "--"], {
      gitDirectory: into,
    });
    if (parents !== copy.base) throw damagedBundle("its commit does not stand on its base alone");
    keepPack(into, vault);
  } finally {
    rmSync(into, { recursive: true, force: true });
  }
}

/** Nobody has worked in it: then only what was changed needs to be written. */
async function goForward(copy: WorkingCopy, tree: string): Promise<boolean> {
  const { copyIndex: base } = layoutOf(copy.home, copy.id);
  try {
    await withOwnIndex(`${base}.tip`, async (indexFile) => {
      copyIndex(base, indexFile);
      const context = { ...vaultOf(copy), workTree: copy.folder, indexFile };
      await runGit(["read-tree", "-m", "-u", copy.baseTree, tree], context);
    });
    return true;
  } catch (error) {
    // Something is in the way after all.
    if (error instanceof GitFailure && error.kind === "exit") return false;
    throw error;
  }
}

async function layOut(copy: WorkingCopy, tree: string): Promise<void> {
  const { base, baseTree, home, id } = copy;
  const record = readCopyRecord(home, id);
  if (record === undefined) throw new Error(`there is no copy ${id}`);
  const { borrowed: objects, objectFormat, shallow } = record;
  const { prefix } = copy.source;
  if (existsSync(worktreesOf(home))) await removeFolder(worktreesOf(home), id);
  await checkOutCopy(
    { home, id, base, baseTree, place: { objectFormat, objects, prefix, shallow } },
    tree,
  );
}

interface ReceivedPack {
  /** A bare repository that holds the pack; it must not exist yet, or be left from a crash. */
  readonly into: string;
  readonly bundle: GitBundle;
  readonly commit: string;
  /** What is there already, and where. */
  readonly known: string | null;
  readonly objects: readonly string[];
  readonly shallow: string;
  readonly signal?: AbortSignal;
}

/**
 * Takes the objects of a bundle into a repository of their own and looks at them there: everything
 * that its commit needs must have come, and nothing else. A pack names no file on disk and runs
 * nothing; what its trees are called is judged when they are checked out.
 */
export async function receivePack(request: ReceivedPack): Promise<void> {
  const { bundle, commit, into, known, objects, shallow } = request;
  const { objectFormat } = bundle;
  rmSync(into, { recursive: true, force: true });
  mkdirSync(into, { recursive: true, mode: 0o700 });
  createVault(into, { objectFormat, objects, shallow }, "");
  const context = { gitDirectory: into, ...(request.signal && { signal: request.signal }) };
  try {
    await runGit(["index-pack", "--stdin"], { ...context, input: bundle.pack });
    if ((await askGit(["cat-file", "-t", commit], context)) !== "commit") {
      throw damagedBundle("its commit is none");
    }
    const needed = await listNeeded(context, commit, known);
    const held = await listHeld(into);
    if (needed.size === held.size && [...held].every((object) => needed.has(object))) return;
    throw damagedBundle("it brings more or less than its commit is made of");
  } catch (error) {
    rmSync(into, { recursive: true, force: true });
    if (!(error instanceof GitFailure) || error.kind !== "exit") throw error;
    const said = error.stderr.trim().split("\n")[0] ?? "";
    throw damagedBundle(`git cannot read it (${headOf(said, 200)})`, error);
  }
}

async function listNeeded(
  context: { readonly gitDirectory: string },
  commit: string,
  known: string | null,
): Promise<ReadonlySet<string>> {
  const listing = ["rev-list", "--objects", "--no-object-names", commit];
  const args = known === null ? listing : [...listing, `^${known}`];
  const { stdout } = await runGit(args, { ...context, maximumBytes: longestList });
  return linesOf(stdout.toString("latin1"));
}

async function listHeld(into: string): Promise<ReadonlySet<string>> {
  const args = ["cat-file", "--batch-all-objects", "--batch-check=%(objectname)", "--unordered"];
  // Without what is borrowed: only what has come is asked for.
  const alternates = join(into, "objects", "info", "alternates");
  const aside = `${alternates}.aside`;
  const isBorrowing = readdirSync(join(into, "objects", "info")).includes("alternates");
  if (isBorrowing) renameSync(alternates, aside);
  try {
    const { stdout } = await runGit(args, { gitDirectory: into, maximumBytes: longestList });
    return linesOf(stdout.toString("latin1"));
  } finally {
    if (isBorrowing) renameSync(aside, alternates);
  }
}

function linesOf(text: string): ReadonlySet<string> {
  return new Set(text.split("\n").filter((line) => line !== ""));
}

const longestList = 512 * 1024 * 1024;

/** Moves what was received into another repository. May be repeated. */
function keepPack(from: string, into: string): void {
  const folder = join(from, "objects", "pack");
  const names = readdirSync(folder);
  // Whoever finds an index looks for its pack: that one is there first.
  const isIndex = (name: string): boolean => name.endsWith(".idx");
  for (const name of [...names.filter((one) => !isIndex(one)), ...names.filter(isIndex)]) {
    renameSync(join(folder, name), join(into, "objects", "pack", name));
  }
}
