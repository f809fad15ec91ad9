import { lstatSync, mkdirSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import type { ObjectFormat } from "../place.ts";
import { RepositoryRefused } from "../repository-refusal.ts";
import { runGit } from "../run-git.ts";
import { withOwnIndex } from "../with-own-index.ts";
import { copyIndex } from "./copy-index.ts";
import { layoutOf, refOf } from "./copy-layout.ts";
import { createChildRepository, moveRef } from "./vault.ts";

export interface CheckedOutCopy {
  readonly home: string;
  readonly id: string;
  readonly base: string;
  readonly baseTree: string;
  readonly place: {
    readonly objectFormat: ObjectFormat;
    readonly shallow: string;
    readonly prefix: string;
    /** Without the vault. */
    readonly objects: readonly string[];
  };
  readonly signal?: AbortSignal;
}

/**
 * Lays out the child's folder from its vault: the files of `tree`, a `.git` of the child's own that
 * stands at its base, and the index that says what its files were at the base.
 */
export async function checkOutCopy(copy: CheckedOutCopy, tree = copy.baseTree): Promise<void> {
  const { base, baseTree, home, id, place } = copy;
  const layout = layoutOf(home, id);
  const vault = { gitDirectory: layout.vault, ...(copy.signal && { signal: copy.signal }) };
  moveRef(layout.vault, `${refOf(id)}-base`, base);
  mkdirSync(layout.folder, { recursive: true, mode: 0o700 });
  await withOwnIndex(`${layout.copyIndex}.tip`, async (indexFile) => {
    const context = { ...vault, workTree: layout.folder, indexFile };
    await runGit(["read-tree", tree], context);
    await runGit(["checkout-index", "--all", "--force", "--index"], context);
    if (tree !== baseTree) {
      // What it changed is told from its base, and looked at file by file like any child's.
      rmSync(indexFile);
      await runGit(["read-tree", baseTree], { ...vault, indexFile });
    }
    // Last: whoever comes after a crash can still tell what is missing.
    renameSync(indexFile, layout.copyIndex);
  });
  createChildRepository(layout.folder, {
    ...{ place, base, branch: `mandate/${id}` },
    objects: [join(layout.vault, "objects"), ...place.objects],
  });
  copyIndex(layout.copyIndex, join(layout.folder, ".git", "index"));
  makePrefix(layout.folder, place.prefix);
}

/** A workspace that holds no files yet is an empty folder, and stays one. No link leads to it. */
function makePrefix(folder: string, prefix: string): void {
  let place = folder;
  for (const step of prefix === "" ? [] : prefix.split("/")) {
    place = join(place, step);
    const found = lstatSync(place, { throwIfNoEntry: false });
    if (found === undefined) mkdirSync(place);
    else if (!found.isDirectory()) {
      const sentence = `The workspace "${prefix}" is no folder in the state that was copied.`;
      throw new RepositoryRefused({ code: "unreadable", sentence });
    }
  }
}
