import { randomBytes } from "node:crypto";
import { existsSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { entryAt, findDifferences, recordDifferences } from "../compare-files.ts";
import { explainGitFailure, GitFailure, RepositoryRefused } from "../git-failure.ts";
import {
  executableMode,
  hashContents,
  linkMode,
  pathInWorkspace,
  readTracked,
  readTreeChanges,
  readTreePaths,
  shownRaw,
  submoduleMode,
  type TreeChange,
} from "../read-git.ts";
import { askGit } from "../run-git.ts";
import { type ChangeProblem, changeProblem, embeddedProblem } from "./change-problem.ts";
import { collisionProblem, judgeChanges } from "./judge-changes.ts";
import { moveRef } from "./vault.ts";
import {
  type CopyLimits,
  changeLimits,
  copyIndex,
  layoutOf,
  refOf,
  type WorkingCopy,
} from "./working-copy.ts";

/** The changes that a child made in its copy, as one commit on top of its base. */
export interface CollectedChanges {
  /** Null: nothing changed. Kept in the vault under `refs/mandate/<id>`. */
  readonly commit: string | null;
  readonly tree: string;
  readonly files: readonly ChangedFile[];
  /** Paths that were omitted or must not be merged. With any problem, nothing is merged. */
  readonly problems: readonly ChangeProblem[];
}

export interface CollectOptions {
  /** The message of the commit. */
  readonly message?: string;
  readonly limits?: Partial<CopyLimits>;
  readonly signal?: AbortSignal;
}

/**
 * Commits the files of a copy through the vault: the child's `.git` is not read, and no attributes
 * of the tree apply. The child's processes must have ended, since they could change a file while it
 * is read.
 */
export async function collectChanges(
  copy: WorkingCopy,
  options: CollectOptions = {},
): Promise<CollectedChanges> {
  const layout = layoutOf(copy.home, copy.id);
  requireFolder(copy);
  const indexFile = `${layout.copyIndex}.${randomBytes(6).toString("hex")}`;
  const signal = options.signal === undefined ? {} : { signal: options.signal };
  const vault = { gitDirectory: layout.vault, ...signal };
  const context = { ...vault, workTree: copy.folder, indexFile };
  try {
    copyIndex(layout.copyIndex, indexFile);
    const [{ entries }, differences] = await Promise.all([
      readTracked(context),
      findDifferences(context),
    ]);
    const submodules = entries.filter(({ mode }) => mode === submoduleMode);
    const { accepted, problems } = judgeChanges(
      {
        folder: copy.folder,
        prefix: copy.source.prefix,
        submodules: submodules.map(({ path }) => path),
        limits: { ...changeLimits, ...options.limits },
      },
      differences,
    );
    const isKept = new Set(submodules.map(({ path }) => path));
    const tree = await recordDifferences(context, {
      removed: differences.removed.filter((path) => !isKept.has(path)),
      ...(accepted.length > 500
        ? { loose: [], packed: accepted }
        : { loose: accepted, packed: [] }),
    });
    renameSync(indexFile, layout.copyIndex);
    return await describe(copy, tree, problems, options.message);
  } catch (error) {
    if (!(error instanceof GitFailure) || error.kind !== "output-too-large") {
      throw explainGitFailure(error, copy.source.toplevel);
    }
    const problems = [changeProblem("too-many", ["more paths than can be listed"])];
    return { commit: null, tree: copy.baseTree, files: [], problems };
  } finally {
    rmSync(indexFile, { force: true });
    rmSync(`${indexFile}.lock`, { force: true });
  }
}

/** A link in place of the folder would make git read another folder. */
function requireFolder({ folder, id }: WorkingCopy): void {
  if (entryAt(folder)?.isDirectory() === true) return;
  const sentence = `The working copy "${id}" is missing or not a folder: ${folder}. Its last collected changes are in refs/mandate/${id} of its vault.`;
  throw new RepositoryRefused({ code: "copy-unknown", sentence });
}

async function describe(
  copy: WorkingCopy,
  tree: string,
  problems: readonly ChangeProblem[],
  message = `Changes of ${copy.id}`,
): Promise<CollectedChanges> {
  const { vault } = layoutOf(copy.home, copy.id);
  const context = { gitDirectory: vault };
  if (tree === copy.baseTree) return { commit: null, tree, files: [], problems };
  const changes = await readTreeChanges(context, copy.baseTree, tree);
  const { prefix } = copy.source;
  const outside = changes
    .map(({ path }) => pathInWorkspace(prefix, shownRaw(path)))
    .filter((path) => path.startsWith("../"));
  const present = changes.filter(({ after }) => after !== null);
  const added = present.filter(({ before }) => before === null);
  const all = present.length === 0 ? [] : (await readTreePaths(context, tree)).map(shownRaw);
  const collision =
    added.length === 0
      ? undefined
      : collisionProblem(prefix, all, new Set(added.map(({ path }) => shownRaw(path))));
  const embedded = embeddedProblem(prefix, all, present);
  const commit = await commitOnce(copy, tree, message);
  return {
    ...{ commit, tree },
    files: await describeFiles(vault, prefix, changes),
    problems: [
      ...problems,
      ...(outside.length > 0 ? [changeProblem("outside-workspace", outside)] : []),
      ...(collision === undefined ? [] : [collision]),
      ...(embedded === undefined ? [] : [embedded]),
    ],
  };
}

/** Collecting the same state again gives the same commit, even after a crash. */
async function commitOnce(copy: WorkingCopy, tree: string, message: string): Promise<string> {
  const context = { gitDirectory: layoutOf(copy.home, copy.id).vault };
  const ref = refOf(copy.id);
  if (existsSync(join(context.gitDirectory, ref))) {
    const args = ["for-each-ref", "--format=%(objectname) %(tree) %(parent)", ref];
    const [commit = "", ...about] = (await askGit(args, context)).split(" ");
    if (about.join(" ") === `${tree} ${copy.base}`) return commit;
  }
  const input = { ...context, input: message };
  const made = await askGit(["commit-tree", tree, "-p", copy.base, "-F", "-"], input);
  moveRef(context.gitDirectory, ref, made);
  return made;
}

export interface ChangedFile {
  /** Relative to the workspace, with `/`. */
  readonly path: string;
  /** SHA-256 of the content in the base; null: there was no file. */
  readonly before: string | null;
  /** SHA-256 of the content now; null: it is gone. */
  readonly after: string | null;
  /** The mode of the new file, or of the old one when it was removed. A link's content is its target. */
  readonly mode: "file" | "executable" | "link";
}

/** Changes as the log describes them, with SHA-256 instead of git's object names. */
export async function describeFiles(
  vault: string,
  prefix: string,
  changes: readonly TreeChange[],
): Promise<readonly ChangedFile[]> {
  const objects = changes.flatMap(({ before, after }) => [before, after]);
  const hashes = await hashContents(
    vault,
    objects.flatMap((entry) => (entry === null ? [] : [entry.object])),
  );
  return changes.map(({ path, before, after }) => ({
    path: pathInWorkspace(prefix, shownRaw(path)),
    before: before === null ? null : (hashes.get(before.object) ?? null),
    after: after === null ? null : (hashes.get(after.object) ?? null),
    mode: wordOf((after ?? before)?.mode ?? ""),
  }));
}

function wordOf(mode: string): ChangedFile["mode"] {
  if (mode === linkMode) return "link";
  return mode === executableMode ? "executable" : "file";
}
