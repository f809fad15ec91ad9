import { existsSync, readFileSync, realpathSync, statSync } from "node:fs";
import { homedir } from "node:os";
import { join, relative, resolve, sep } from "node:path";
import { isBelow } from "../../contracts/write-roots.ts";
import { headOf } from "../../text.ts";
import { nearestRealPath } from "../resolve-inside.ts";
import { findCaseCollisions, ignoresCase } from "./copies/change-problem.ts";
import { layoutOf, readCopyRecord, worktreesOf } from "./copies/working-copy.ts";
import {
  borrowedObjects,
  type DiscoveredRepository,
  discoverRepository,
  readSmallFile,
} from "./discover-repository.ts";
import { GitFailure, namesOf, type RepositoryRefusal, RepositoryRefused } from "./git-failure.ts";
import {
  type CopyPlace,
  type GitPlace,
  type Place,
  type RawPath,
  rawOf,
  readTracked,
  shownRaw,
  submoduleMode,
  type TrackedEntry,
  type TrackedFiles,
} from "./read-git.ts";
import { askGit, runGit } from "./run-git.ts";

/** What is known about a folder before it is copied or merged into. */
export interface Inspection {
  readonly place: Place;
  readonly tracked: readonly TrackedEntry[];
  readonly ignoreRules: string;
  /** The path of MANDATE_HOME below the place, if it is there; it is no part of the workspace. */
  readonly hidden: RawPath | null;
  readonly submodules: readonly string[];
  readonly caseCollisions: readonly (readonly string[])[];
  /** Why the folder cannot be used in its current state; empty: it can be used. */
  readonly refusals: readonly RepositoryRefusal[];
}

/** Describes a workspace and whether it can be used. Writes nothing and runs nothing of it. */
export async function inspectRepository(folder: string, home: string): Promise<Inspection> {
  const real = realFolder(folder);
  const copy = await copyPlaceAt(real, home);
  if (copy !== undefined) return { ...plain(copy.place, copy.ignoreRules), tracked: copy.tracked };
  const repository = await discoverRepository(real);
  if (repository === undefined || (await isIgnoredInside(repository))) {
    return hide(home, plain(folderPlace(real), await readIgnoreRules(real)));
  }
  return hide(home, await inspectGit(repository, home));
}

function hide(home: string, inspection: Inspection): Inspection {
  const { toplevel } = inspection.place;
  const { path } = nearestRealPath(resolve(home));
  if (!isBelow(path, toplevel)) return inspection;
  const inside = relative(toplevel, path).split(sep).join("/");
  const rule = `/${inside.replace(/[\\*?[ ]/g, "\\$&")}/\n`;
  return { ...inspection, ignoreRules: inspection.ignoreRules + rule, hidden: rawOf(inside) };
}

/** The folder whose lock protects a workspace. Fast, because the folder is not inspected. */
export async function findToplevel(folder: string, home: string): Promise<string> {
  const real = realFolder(folder);
  const copy = await copyPlaceAt(real, home);
  if (copy !== undefined) return copy.place.toplevel;
  const repository = await discoverRepository(real);
  if (repository === undefined || (await isIgnoredInside(repository))) return real;
  return repository.toplevel;
}

async function inspectGit(repository: DiscoveredRepository, home: string): Promise<Inspection> {
  const { gitDirectory, toplevel } = repository;
  try {
    const context = { gitDirectory, workTree: toplevel };
    const maybe = { ...context, answers: [1] };
    const [head, tracked, ignoreRules, hasTree] = await Promise.all([
      askGit(["rev-parse", "--verify", "--quiet", "HEAD"], maybe),
      readTracked(context),
      readIgnoreRules(toplevel, repository.exclude),
      runGit(["cat-file", "-e", "HEAD^{tree}"], { ...context, answers: [1, 128] }),
      // `rev-parse` takes a branch whose file is damaged for one without a commit; this fails.
      askGit(["symbolic-ref", "--quiet", "HEAD"], maybe),
    ]);
    if (head !== "" && hasTree.exitCode !== 0) throw new GitFailure("exit", "cat-file", hasTree);
    const place: GitPlace = {
      ...{ kind: "git", toplevel, gitDirectory, prefix: repository.prefix },
      objectFormat: repository.objectFormat,
      objects: borrowedObjects(repository.objects),
      shallow: readSmallFile(repository.shallow, 1024 * 1024),
      head: head === "" ? null : head,
    };
    const names = tracked.entries.map(({ path }) => shownRaw(path));
    const found = {
      tracked: tracked.entries,
      submodules: names.filter((_, index) => tracked.entries[index]?.mode === submoduleMode),
      caseCollisions: findCaseCollisions(names),
    };
    return {
      ...plain(place, ignoreRules),
      ...found,
      refusals: findRefusals(repository, tracked, found.caseCollisions, home),
    };
  } catch (error) {
    if (!(error instanceof GitFailure) || error.kind !== "exit") throw error;
    const sentence = `The repository "${toplevel}" is damaged (${headOf(error.stderr.trim(), 200)}). Run git fsck in it, repair it, and try again.`;
    throw new RepositoryRefused({ code: "corrupt", sentence }, { cause: error });
  }
}

/** A folder that the repository around it ignores is treated as a plain folder. */
async function isIgnoredInside(repository: DiscoveredRepository): Promise<boolean> {
  const { gitDirectory, toplevel, prefix } = repository;
  if (prefix === "") return false;
  const context = { gitDirectory, workTree: toplevel };
  const known = await runGit(["ls-files", "-z", "--", `:(literal)${prefix}`], {
    ...context,
    cutAtMaximum: true,
    maximumBytes: 1,
  });
  if (known.stdout.length > 0) return false;
  const answer = await runGit(["check-ignore", "--quiet", "--no-index", "--", `./${prefix}/`], {
    ...context,
    answers: [1],
  });
  return answer.exitCode === 0;
}

function folderPlace(toplevel: string): Place {
  const none = { objects: [], shallow: "", head: null } as const;
  return { kind: "folder", toplevel, prefix: "", objectFormat: "sha1", ...none };
}

function plain(place: Place, ignoreRules: string): Inspection {
  return {
    ...{ place, ignoreRules, hidden: null, tracked: [], submodules: [], caseCollisions: [] },
    refusals: [],
  };
}

function realFolder(folder: string): string {
  try {
    const real = realpathSync.native(resolve(folder));
    if (statSync(real).isDirectory()) return real;
  } catch (cause) {
    throw notAFolder(folder, cause);
  }
  throw notAFolder(folder);
}

function notAFolder(folder: string, cause?: unknown): RepositoryRefused {
  const sentence = `The workspace "${folder}" is not a folder that can be opened. Create it, or choose another one.`;
  return new RepositoryRefused({ code: "unreadable", sentence }, { cause });
}

interface FoundCopy {
  readonly place: CopyPlace;
  readonly tracked: readonly TrackedEntry[];
  readonly ignoreRules: string;
}

/** A folder inside one of our working copies, from which its child delegates in turn. */
async function copyPlaceAt(folder: string, home: string): Promise<FoundCopy | undefined> {
  const worktrees = realOrUndefined(worktreesOf(home));
  if (worktrees === undefined || folder === worktrees || !isBelow(folder, worktrees)) return;
  const [copyId = "", ...rest] = relative(worktrees, folder).split(sep);
  const record = readCopyRecord(home, copyId);
  if (record === undefined) return undefined;
  const layout = layoutOf(home, copyId);
  const { entries } = await readTracked({
    gitDirectory: layout.vault,
    indexFile: layout.copyIndex,
  });
  const { objectFormat, borrowed, shallow, head } = record;
  return {
    place: {
      ...{ kind: "copy", objectFormat, shallow, head, objects: borrowed },
      toplevel: join(worktrees, copyId),
      prefix: rest.join("/"),
    },
    tracked: entries,
    ignoreRules: readFileSync(join(layout.vault, "info", "exclude"), "utf8"),
  };
}

function realOrUndefined(path: string): string | undefined {
  try {
    return realpathSync.native(path);
  } catch {
    return undefined;
  }
}

/** Why a repository, in its current state, cannot be copied or merged into. */
function findRefusals(
  repository: DiscoveredRepository,
  tracked: TrackedFiles,
  caseCollisions: readonly (readonly string[])[],
  home: string,
): readonly RepositoryRefusal[] {
  const refusals: RepositoryRefusal[] = [];
  const where = `The repository "${repository.toplevel}"`;
  const add = (code: RepositoryRefusal["code"], rest: string, paths?: readonly string[]): void => {
    refusals.push({ code, sentence: `${where} ${rest}`, ...(paths && { paths }) });
  };
  if (existsSync(`${repository.index}.lock`)) {
    add(
      "locked",
      "is being changed by another git command (index.lock exists). Wait for it; if none runs, remove that file.",
    );
  }
  const operation = operationIn(repository.gitDirectory);
  if (operation !== undefined || tracked.unmerged.length > 0) {
    const what = operation ?? "merge";
    add(
      "operation-in-progress",
      `is in the middle of a ${what}. Finish or abort it first.`,
      tracked.unmerged.map(shownRaw),
    );
  }
  if (tracked.sparse.length > 0) {
    add(
      "sparse-checkout",
      "is checked out in part only (sparse checkout). Run git sparse-checkout disable, or use a full clone.",
    );
  }
  const collisions = caseCollisions.flat();
  if (collisions.length > 0 && (ignoresCase(home) || ignoresCase(repository.toplevel))) {
    add(
      "case-collision",
      `has names that this file system cannot tell apart: ${namesOf(collisions)}. Rename them.`,
      collisions,
    );
  }
  return refusals;
}

const operations: readonly (readonly [string, string])[] = [
  ["MERGE_HEAD", "merge"],
  ["rebase-merge", "rebase"],
  ["rebase-apply", "rebase"],
  ["CHERRY_PICK_HEAD", "cherry-pick"],
  ["REVERT_HEAD", "revert"],
];

function operationIn(gitDirectory: string): string | undefined {
  return operations.find(([name]) => existsSync(join(gitDirectory, name)))?.[1];
}

const maximumBytes = 1024 * 1024;

/** Mandate's own files: reports about children, and temporary files of killed processes. */
const own = ["**/.mandate/reports/", ".mandate-[0-9a-f]*.tmp"].join("\n");

/**
 * The ignore rules outside of `.gitignore` files: the repository's exclude file and the personal
 * one. They are copied as text, so that a copy omits the same secrets and build results although
 * the configuration of the repository and of the person is not used.
 */
async function readIgnoreRules(folder: string, exclude?: string): Promise<string> {
  const personal = await personalIgnoreFile(folder);
  const theirs = exclude === undefined ? "" : readSmallFile(exclude, maximumBytes);
  // Later lines win: the repository's file comes last.
  return `${own}\n${readSmallFile(personal, maximumBytes)}\n${theirs}\n`;
}

async function personalIgnoreFile(folder: string): Promise<string> {
  const args = ["config", "--type=path", "--get", "core.excludesFile"];
  const context = { cwd: folder, withPersonalConfiguration: true, timeoutMs: 20_000 };
  const configured = await askGit(args, { ...context, answers: [1] });
  if (configured !== "") return configured;
  const configuration = process.env["XDG_CONFIG_HOME"] || join(homedir(), ".config");
  return join(configuration, "git", "ignore");
}
