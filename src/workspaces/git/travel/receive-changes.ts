import { existsSync, mkdirSync, readdirSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { type ChangeProblem, changeProblem } from "../copies/change-problem.ts";
import { type CollectedChanges, collectChanges } from "../copies/collect-changes.ts";
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
import { bundleFailure, damagedBundle, type GitBundle, openChanges } from "./git-bundle.ts";

/** What another machine reports about its work, in addition to the changes. */
export interface ReceivedChanges {
  readonly commit: string | null;
  /** What was omitted there or must not be merged; it cannot be found out here. */
  readonly problems: readonly ChangeProblem[];
  /** The changes as they were found in the copy afterwards. */
  readonly collected: CollectedChanges;
}

/**
 * Puts changes that were made on another machine into the copy here, as if the child had worked in
 * it: they are then collected and judged like those of any child. The previous content of the copy
 * is replaced. Nothing is trusted: the commit must have the copy's own base as its only parent, the
 * bundle must contain exactly its objects, and its files must be those that are collected. May be
 * repeated after a crash.
 */
export async function receiveChanges(copy: WorkingCopy, text: string): Promise<ReceivedChanges> {
  const { bundle, header } = openChanges(text);
  if (header.base !== copy.base) {
    throw damagedBundle("it has another base than expected");
  }
  const { commit } = header;
  const problems = header.problems.map(({ kind, paths }) => changeProblem(kind, paths));
  const ref = join(vaultOf(copy).gitDirectory, ...refOf(copy.id).split("/"));
  const isUnused = readClaim(copy.home, copy.id) === 0 && !existsSync(ref);
  if (!isUnused && existsSync(copy.folder)) {
    // The work was done in this copy, or was received before.
    const collected = await collectChanges(copy);
    if (collected.commit === commit) return { commit, problems, collected };
  }
  const place = async (lay: (tree: string) => Promise<unknown>): Promise<CollectedChanges> => {
    try {
      let tree = copy.baseTree;
      if (bundle !== null && commit !== null) {
        await takeObjects(copy, bundle, commit);
        tree = await askGit(["rev-parse", `${commit}^{tree}`], vaultOf(copy));
      }
      await lay(tree);
      // Last: the ref records that the changes have been received.
      moveRef(vaultOf(copy).gitDirectory, refOf(copy.id), commit);
    } catch (error) {
      throw bundleFailure("its files cannot be laid out", error);
    }
    return collectChanges(copy);
  };
  const isWhole = isUnused && existsSync(copy.folder);
  let collected = isWhole ? await place((tree) => tryFastForward(copy, tree)) : undefined;
  // Something else is in the copy: it is laid out from nothing.
  if (collected?.commit !== commit) collected = await place((tree) => layOut(copy, tree));
  if (collected.commit !== commit) throw damagedBundle("its files are not those of its commit");
  return { commit, problems, collected };
}

function vaultOf({ home, id }: WorkingCopy): { readonly gitDirectory: string } {
  return { gitDirectory: layoutOf(home, id).vault };
}

async function takeObjects(
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
    if (parents !== copy.base) throw damagedBundle("the base is not the only parent of its commit");
    keepPack(into, vault);
  } finally {
    rmSync(into, { recursive: true, force: true });
  }
}

/** Tries to write only the changed files, for a copy in which no work was done. */
async function tryFastForward(copy: WorkingCopy, tree: string): Promise<boolean> {
  const { copyIndex: base } = layoutOf(copy.home, copy.id);
  try {
    await withOwnIndex(`${base}.tip`, async (indexFile) => {
      copyIndex(base, indexFile);
      const context = { ...vaultOf(copy), workTree: copy.folder, indexFile };
      await runGit(["read-tree", "-m", "-u", copy.baseTree, tree], context);
    });
    return true;
  } catch (error) {
    // A file of the copy prevents the checkout.
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
  /** A bare repository for the pack; it must not exist yet, or be left over from a crash. */
  readonly into: string;
  readonly bundle: GitBundle;
  readonly commit: string;
  /** The commit that exists already, and the objects folders that have it. */
  readonly known: string | null;
  readonly objects: readonly string[];
  readonly shallow: string;
  readonly signal?: AbortSignal;
}

/**
 * Unpacks the objects of a bundle into a separate repository and checks them there: everything that
 * the commit needs must be included, and nothing else. A pack names no files on disk and runs
 * nothing; the names in its trees are checked when they are checked out.
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
      throw damagedBundle("its commit is not a commit");
    }
    const needed = await listNeeded(context, commit, known);
    const held = await listHeld(into);
    if (needed.size === held.size && [...held].every((object) => needed.has(object))) return;
    throw damagedBundle("its objects are not exactly those of its commit");
  } catch (error) {
    rmSync(into, { recursive: true, force: true });
    throw bundleFailure("git cannot read it", error);
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
  // Without borrowed objects: only received ones are listed.
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

/** Moves the received pack into another repository. May be repeated. */
function keepPack(from: string, into: string): void {
  const folder = join(from, "objects", "pack");
  const names = readdirSync(folder);
  // A process that finds an index expects its pack, so packs are moved first.
  const isIndex = (name: string): boolean => name.endsWith(".idx");
  for (const name of [...names.filter((one) => !isIndex(one)), ...names.filter(isIndex)]) {
    renameSync(join(folder, name), join(into, "objects", "pack", name));
  }
}
