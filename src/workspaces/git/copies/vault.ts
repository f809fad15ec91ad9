import {
  copyFileSync,
  linkSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { writeDurablySync } from "../../../files.ts";
import { RepositoryRefused } from "../git-failure.ts";
import type { ObjectFormat, Place } from "../read-git.ts";
import { runGit, withOwnIndex } from "../run-git.ts";
import { copyIndex, layoutOf, refOf } from "./working-copy.ts";

/**
 * Overrides every `.gitattributes` of a tree: bytes are not converted, and texts are merged as
 * texts. `-` switches a conversion off, `!` returns to git's default.
 */
const attributes =
  "* -text -eol -crlf -ident -filter -working-tree-encoding !merge !diff !conflict-marker-size\n";

type Borrowing = Pick<Place, "objectFormat" | "objects" | "shallow">;

/**
 * Creates a bare repository of the runtime for the snapshots, merges and commits of one working
 * copy. Only its own configuration applies, never that of a child or of a repository. Objects of
 * the copied place are borrowed from there.
 */
export function createVault(vault: string, place: Borrowing, ignoreRules: string): void {
  layOut(vault, place.objectFormat, "bare = true");
  writeFileSync(join(vault, "HEAD"), "ref: refs/heads/none\n");
  writeBorrowed(vault, place.objects);
  writeFileSync(excludeOf(vault), ignoreRules);
  writeShallow(vault, place.shallow);
}

/** Updates what can change in the copied place while the copy exists. */
export function updateVault(
  vault: string,
  place: Pick<Place, "shallow">,
  ignoreRules: string,
): void {
  // Written durably: with an incomplete file, ignored files would count as the child's work.
  writeDurablySync(excludeOf(vault), ignoreRules);
  writeShallow(vault, place.shallow);
}

function excludeOf(vault: string): string {
  return join(vault, "info", "exclude");
}

/** Stored objects never change, so two repositories can share their files. */
export function linkObjects(from: string, into: string): void {
  mkdirSync(into, { recursive: true, mode: 0o700 });
  const known = new Set(readdirSync(into));
  for (const entry of readdirSync(from, { withFileTypes: true })) {
    const [old, fresh] = [join(from, entry.name), join(into, entry.name)];
    if (entry.isDirectory()) {
      if (entry.name !== "info") linkObjects(old, fresh);
    } else if (!known.has(entry.name)) {
      try {
        linkSync(old, fresh);
      } catch {
        // A file system without hard links.
        copyFileSync(old, fresh);
      }
    }
  }
}

/**
 * Sets a ref of the vault, or deletes it if `commit` is null. Git would create a lock file first,
 * which stays if git is killed and blocks the ref from then on.
 */
export function moveRef(vault: string, ref: string, commit: string | null): void {
  const place = join(vault, ...ref.split("/"));
  if (commit === null) rmSync(place, { force: true });
  else writeDurablySync(place, `${commit}\n`);
}

/**
 * The child's own git directory, inside its copy: own configuration, refs and stash, no remote.
 * The runtime writes it once and never reads it.
 */
function createChildRepository(
  folder: string,
  child: {
    readonly place: Pick<Place, "objectFormat" | "shallow">;
    readonly objects: readonly string[];
    readonly branch: string;
    readonly base: string;
  },
): void {
  const own = join(folder, ".git");
  const identity = "[user]\n\tname = Mandate\n\temail = mandate@localhost\n[gc]\n\tauto = 0\n";
  layOut(own, child.place.objectFormat, "bare = false", identity);
  writeBorrowed(own, child.objects);
  writeShallow(own, child.place.shallow);
  writeFileSync(join(own, "HEAD"), `ref: refs/heads/${child.branch}\n`);
  const ref = join(own, "refs", "heads", ...child.branch.split("/"));
  mkdirSync(join(ref, ".."), { recursive: true });
  writeFileSync(ref, `${child.base}\n`);
}

function layOut(folder: string, format: ObjectFormat, bare: string, more = ""): void {
  for (const name of ["objects/info", "objects/pack", "refs/heads", "info"]) {
    mkdirSync(join(folder, name), { recursive: true, mode: 0o700 });
  }
  const [version, extension] =
    format === "sha256" ? ["1", "[extensions]\n\tobjectFormat = sha256\n"] : ["0", ""];
  const core = `[core]\n\trepositoryFormatVersion = ${version}\n\t${bare}\n\tfileMode = true\n`;
  writeFileSync(join(folder, "config"), `${core}${extension}${more}`);
  writeFileSync(join(folder, "info", "attributes"), attributes);
}

function writeBorrowed(folder: string, objects: readonly string[]): void {
  if (objects.length === 0) return;
  const list = objects.map((path) => `${path}\n`).join("");
  writeFileSync(join(folder, "objects", "info", "alternates"), list);
}

function writeShallow(folder: string, shallow: string): void {
  const commits = shallow.split("\n").filter((line) => /^[0-9a-f]{40,64}$/.test(line));
  if (commits.length === 0) return;
  writeFileSync(join(folder, "shallow"), `${commits.join("\n")}\n`);
}

interface CheckedOutCopy {
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
 * Creates the child's folder from its vault: the files of `tree`, the child's own `.git` at its
 * base, and the runtime's index with the state of the files at the base.
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
      // The child's changes are relative to its base, so the index is that of the base.
      rmSync(indexFile);
      await runGit(["read-tree", baseTree], { ...vault, indexFile });
    }
    // Last: after a crash the missing index shows that the checkout is incomplete.
    renameSync(indexFile, layout.copyIndex);
  });
  createChildRepository(layout.folder, {
    ...{ place, base, branch: `mandate/${id}` },
    objects: [join(layout.vault, "objects"), ...place.objects],
  });
  copyIndex(layout.copyIndex, join(layout.folder, ".git", "index"));
  makePrefix(layout.folder, place.prefix);
}

/** Creates the folder of a workspace that has no files yet, without following a link. */
function makePrefix(folder: string, prefix: string): void {
  let place = folder;
  for (const step of prefix === "" ? [] : prefix.split("/")) {
    place = join(place, step);
    const found = lstatSync(place, { throwIfNoEntry: false });
    if (found === undefined) mkdirSync(place);
    else if (!found.isDirectory()) {
      const sentence = `The workspace "${prefix}" is not a folder in the copied state.`;
      throw new RepositoryRefused({ code: "unreadable", sentence });
    }
  }
}
