import { existsSync, rmSync } from "node:fs";
import { join } from "node:path";
import { headOf } from "../../../text.ts";
import { type ChangeProblem, changeProblem } from "../copies/change-problem.ts";
import { checkOutCopy } from "../copies/check-out-copy.ts";
import { collectChanges } from "../copies/collect-changes.ts";
import { readClaim } from "../copies/copy-claim.ts";
import { copyIndex } from "../copies/copy-index.ts";
import { layoutOf, refOf, worktreesOf } from "../copies/copy-layout.ts";
import { moveRef } from "../copies/vault.ts";
import { readCopyRecord, type WorkingCopy } from "../copies/working-copy.ts";
import { GitFailure } from "../git-failure.ts";
import { removeFolder } from "../remove-folder.ts";
import { askGit, runGit } from "../run-git.ts";
import { withOwnIndex } from "../with-own-index.ts";
import { damagedBundle } from "./git-bundle.ts";
import { keepPack, receivePack } from "./receive-pack.ts";
import { openChanges } from "./sealed-bundle.ts";

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
