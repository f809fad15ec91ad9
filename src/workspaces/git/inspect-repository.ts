import { realpathSync, statSync } from "node:fs";
import { relative, resolve, sep } from "node:path";
import { isBelow } from "../../contracts/write-roots.ts";
import { headOf } from "../../text.ts";
import { nearestRealPath } from "../nearest-real-path.ts";
import { borrowedObjects, readSmallFile } from "./borrowed-objects.ts";
import { type Conversions, findConversions } from "./conversions.ts";
import { findCaseCollisions } from "./copies/case-collisions.ts";
import { copyPlaceAt } from "./copies/copy-place.ts";
import { type DiscoveredRepository, discoverRepository } from "./discover-repository.ts";
import { findRefusals } from "./find-refusals.ts";
import { GitFailure } from "./git-failure.ts";
import { readIgnoreRules } from "./ignore-rules.ts";
import { type GitPlace, type Place, submoduleMode, type TrackedEntry } from "./place.ts";
import { type RawPath, rawOf, shownRaw } from "./raw-path.ts";
import { readTracked } from "./read-tracked.ts";
import { type RepositoryRefusal, RepositoryRefused } from "./repository-refusal.ts";
import { askGit, runGit } from "./run-git.ts";

/** What was found about a folder, before anything is made of it. */
export interface Inspection {
  readonly place: Place;
  readonly tracked: readonly TrackedEntry[];
  readonly ignoreRules: string;
  /** Where MANDATE_HOME lies in it, if it does: no part of the workspace. */
  readonly hidden: RawPath | null;
  readonly detached: boolean;
  readonly unborn: boolean;
  readonly submodules: readonly string[];
  readonly caseCollisions: readonly (readonly string[])[];
  readonly conversions: Conversions;
  /** What speaks against working with it as it is now; empty: nothing. */
  readonly refusals: readonly RepositoryRefusal[];
}

const noConversions: Conversions = { inUse: false, lfs: false };

/** Says what a workspace is and whether it can be served. Writes nothing, runs nothing of it. */
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

/** The folder whose lock stands for a workspace; found quickly, and judged by nobody yet. */
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
    const [branch, head, tracked, ignoreRules] = await Promise.all([
      askGit(["symbolic-ref", "--quiet", "HEAD"], maybe),
      askGit(["rev-parse", "--verify", "--quiet", "HEAD"], maybe),
      readTracked(context),
      readIgnoreRules(toplevel, repository.exclude),
    ]);
    const [conversions] = await Promise.all([
      findConversions(repository, tracked.entries),
      head === "" ? undefined : runGit(["cat-file", "-e", `${head}^{tree}`], context),
    ]);
    const place: GitPlace = {
      ...{ kind: "git", toplevel, gitDirectory, prefix: repository.prefix },
      objectFormat: repository.objectFormat,
      objects: borrowedObjects(repository.objects),
      shallow: readSmallFile(repository.shallow, 1024 * 1024),
      head: head === "" ? null : head,
      branch: branch === "" ? null : branch,
    };
    const names = tracked.entries.map(({ path }) => shownRaw(path));
    const found = {
      tracked: tracked.entries,
      submodules: names.filter((_, index) => tracked.entries[index]?.mode === submoduleMode),
      caseCollisions: findCaseCollisions(names),
      conversions,
    };
    return {
      ...plain(place, ignoreRules),
      ...found,
      detached: branch === "",
      unborn: head === "",
      refusals: findRefusals(repository, tracked, found.caseCollisions, home),
    };
  } catch (error) {
    if (!(error instanceof GitFailure) || error.kind !== "exit") throw error;
    const sentence = `The repository "${toplevel}" is damaged (${headOf(error.stderr.trim(), 200)}). Run git fsck in it, mend it, and try again.`;
    throw new RepositoryRefused({ code: "corrupt", sentence }, { cause: error });
  }
}

/** A folder that a repository around it ignores has nothing to do with that repository. */
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
    ...{ detached: false, unborn: place.head === null, refusals: [], conversions: noConversions },
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
  const sentence = `The workspace "${folder}" is no folder that can be opened. Create it, or choose another.`;
  return new RepositoryRefused({ code: "unreadable", sentence }, { cause });
}
