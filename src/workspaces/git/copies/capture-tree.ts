import { randomBytes } from "node:crypto";
import { existsSync, renameSync, rmSync } from "node:fs";
import { explainGitFailure } from "../explain-git-failure.ts";
import { type Place, submoduleMode, type TrackedEntry } from "../place.ts";
import { type RawPath, shownRaw } from "../raw-path.ts";
import { readTracked } from "../read-tracked.ts";
import { namesOf, RepositoryRefused } from "../repository-refusal.ts";
import { runGit } from "../run-git.ts";
import { forgetObjectsSince, listStoredObjects } from "../stored-objects.ts";
import { copyIndex } from "./copy-index.ts";
import type { CopyLimits } from "./copy-limits.ts";
import { type Differences, findDifferences } from "./find-differences.ts";
import { recordDifferences } from "./record-differences.ts";
import { verifyCapture } from "./verify-capture.ts";
import type { Omission } from "./working-copy.ts";

export interface Capture {
  readonly tree: string;
  readonly omitted: readonly Omission[];
}

export interface CaptureRequest {
  readonly vault: string;
  readonly place: Place;
  readonly tracked: readonly TrackedEntry[];
  /** A folder of the place that is never part of it: where our own data is. */
  readonly hidden: RawPath | null;
  /** Kept between captures, so that files that did not change are not read again. */
  readonly indexFile: string;
  readonly limits: CopyLimits;
  readonly signal?: AbortSignal;
}

/**
 * Takes a snapshot of a place as a tree in the vault: what is tracked as it is on disk now, staged
 * or not, and what is untracked but not ignored. The place itself is only read, byte for byte: no
 * filter, no line-end conversion, no link followed.
 */
export async function captureTree(request: CaptureRequest): Promise<Capture> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await captureOnce(request);
    } catch (error) {
      const isPassing =
        error instanceof RepositoryRefused && error.refusal.code === "changed-meanwhile";
      if (!isPassing || attempt >= tries) throw error;
    }
  }
}

const tries = 3;

async function captureOnce(request: CaptureRequest): Promise<Capture> {
  // Git locks an index by a file beside it, which a killed process leaves behind: hence a new name.
  const indexFile = `${request.indexFile}.${randomBytes(6).toString("hex")}`;
  const context = {
    gitDirectory: request.vault,
    workTree: request.place.toplevel,
    indexFile,
    ...(request.signal && { signal: request.signal }),
  };
  const stored = listStoredObjects(request.vault);
  try {
    if (existsSync(request.indexFile)) copyIndex(request.indexFile, indexFile);
    await trackTheSame(context, request);
    const differences = await findDifferences(context);
    const { recorded, omitted } = choose(request, differences);
    const tree = await recordDifferences(context, recorded);
    await requireOwnContents(context, request, [...recorded.loose, ...recorded.packed]);
    renameSync(indexFile, request.indexFile);
    return { tree, omitted };
  } catch (error) {
    forgetObjectsSince(request.vault, stored);
    throw explainGitFailure(error, request.place.toplevel);
  } finally {
    rmSync(indexFile, { force: true });
    rmSync(`${indexFile}.lock`, { force: true });
  }
}

/** What is stored in the place already cannot be anybody's secret; everything else is looked at. */
async function requireOwnContents(
  context: { readonly gitDirectory: string; readonly indexFile: string },
  { tracked, place }: CaptureRequest,
  paths: readonly RawPath[],
): Promise<void> {
  const stored = new Map(tracked.map(({ path, object }) => [path, object]));
  const read = new Set(paths);
  const { entries } = await readTracked(context);
  const fresh = entries.filter(({ path, object }) => {
    return read.has(path) && (place.kind === "folder" || stored.get(path) !== object);
  });
  const unlike = await verifyCapture(place.toplevel, fresh, place.objectFormat);
  if (unlike.length === 0) return;
  const names = namesOf(unlike.map(shownRaw));
  const sentence = `The workspace "${place.toplevel}" was changed while it was being read: ${names}. Wait until nothing writes there, then try again.`;
  throw new RepositoryRefused({ code: "changed-meanwhile", sentence });
}

/** What the place tracks is part of it, ignored or not; what it no longer tracks is not. */
async function trackTheSame(
  context: { readonly gitDirectory: string; readonly indexFile: string },
  { tracked, place }: CaptureRequest,
): Promise<void> {
  const known = new Map((await readTracked(context)).entries.map((entry) => [entry.path, entry]));
  const nothing = "0".repeat(place.objectFormat === "sha1" ? 40 : 64);
  const lines: string[] = [];
  const wanted = new Set(tracked.map(({ path }) => path));
  for (const path of known.keys()) {
    if (!wanted.has(path)) lines.push(`0 ${nothing}\t${path}\0`);
  }
  for (const { mode, object, path } of tracked) {
    const isSubmodule = mode === submoduleMode;
    const have = known.get(path);
    const isSame = isSubmodule ? have?.object === object : have !== undefined;
    if (!isSame) lines.push(`${mode} ${object} 0\t${path}\0`);
  }
  if (lines.length === 0) return;
  const input = Buffer.from(lines.join(""), "latin1");
  await runGit(["update-index", "--replace", "-z", "--index-info"], { ...context, input });
}

function choose(
  { place, tracked, hidden, limits }: CaptureRequest,
  differences: Differences,
): {
  recorded: { removed: RawPath[]; loose: RawPath[]; packed: RawPath[] };
  omitted: readonly Omission[];
} {
  const submodules = new Set(
    tracked.filter(({ mode }) => mode === submoduleMode).map(({ path }) => path),
  );
  const omitted: Omission[] = [...submodules].map((path) => omit(path, "submodule"));
  // A submodule is the person's own affair: its entry stays as it is, its folder is not looked at.
  const removed = differences.removed.filter((path) => !submodules.has(path));
  const isHidden = (path: RawPath): boolean =>
    hidden !== null && `${path}/`.startsWith(`${hidden}/`);
  for (const path of differences.nested) {
    if (!submodules.has(path) && !isHidden(path)) omitted.push(omit(path, "nested-repository"));
  }
  const loose: RawPath[] = [];
  const packed: RawPath[] = [];
  let bytes = 0;
  for (const { path, isNew, bytes: size } of differences.present) {
    if (submodules.has(path) || isHidden(path)) continue;
    if (isNew && size > limits.maximumFileBytes) {
      omitted.push(omit(path, "too-large"));
      continue;
    }
    bytes += size;
    // What git tracks is stored in the place already, and only has to be found there.
    (isNew || place.kind !== "git" ? packed : loose).push(path);
  }
  const files = loose.length + packed.length;
  if (files > limits.maximumFiles || bytes > limits.maximumBytes) {
    const size = `${files} files, ${Math.round(bytes / 1024 / 1024)} MB`;
    const sentence = `The workspace "${place.toplevel}" is too large for a working copy (${size}). Ignore what is not needed in .gitignore, or choose a smaller folder.`;
    throw new RepositoryRefused({ code: "too-large", sentence });
  }
  return { recorded: { removed, loose, packed }, omitted };
}

function omit(path: RawPath, reason: Omission["reason"]): Omission {
  return { path: shownRaw(path), reason };
}
