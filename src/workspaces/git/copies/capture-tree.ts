import { randomBytes } from "node:crypto";
import {
  closeSync,
  constants,
  existsSync,
  openSync,
  readdirSync,
  readlinkSync,
  realpathSync,
  renameSync,
  rmSync,
} from "node:fs";
import { join } from "node:path";
import { setImmediate as yieldToOthers } from "node:timers/promises";
import {
  type Differences,
  findDifferences,
  isEntry,
  lookAtFile,
  recordDifferences,
} from "../compare-files.ts";
import { explainGitFailure, namesOf, RepositoryRefused } from "../git-failure.ts";
import {
  type ObjectFormat,
  type Place,
  type RawPath,
  rawPlace,
  readTracked,
  shownRaw,
  submoduleMode,
  type TrackedEntry,
} from "../read-git.ts";
import { runGit } from "../run-git.ts";
import { type CopyLimits, copyIndex, type Omission } from "./working-copy.ts";

interface Capture {
  readonly tree: string;
  readonly omitted: readonly Omission[];
}

interface CaptureRequest {
  readonly vault: string;
  readonly place: Place;
  readonly tracked: readonly TrackedEntry[];
  /** The folder of Mandate's own data, if the place contains it: never part of the snapshot. */
  readonly hidden: RawPath | null;
  /** Kept between captures, so that unchanged files are not read again. */
  readonly indexFile: string;
  readonly limits: CopyLimits;
  readonly signal?: AbortSignal;
}

/**
 * Takes a snapshot of a place as a tree in the vault: tracked files as they are on disk, staged or
 * not, and untracked files that are not ignored. The place is only read, byte for byte: no filter,
 * no line-end conversion, no link followed.
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
  // A new name, since a killed process leaves git's lock file for the index behind.
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

/** Contents that the repository stores already are no secrets; all others are verified. */
async function requireOwnContents(
  context: { readonly gitDirectory: string; readonly indexFile: string },
  { tracked, place }: CaptureRequest,
  paths: readonly RawPath[],
): Promise<void> {
  if (paths.length === 0) return;
  const stored = new Map(tracked.map(({ path, object }) => [path, object]));
  const read = new Set(paths);
  const { entries } = await readTracked(context);
  const fresh = entries.filter(({ path, object }) => {
    return read.has(path) && (place.kind === "folder" || stored.get(path) !== object);
  });
  const differing = await verifyCapture(place.toplevel, fresh, place.objectFormat);
  if (differing.length === 0) return;
  const names = namesOf(differing.map(shownRaw));
  const sentence = `The workspace "${place.toplevel}" was changed while it was being read: ${names}. Wait until nothing writes there, then try again.`;
  throw new RepositoryRefused({ code: "changed-meanwhile", sentence });
}

/** Tracks the same paths as the place, ignored ones included, and no others. */
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
  // The entry of a submodule stays as it is, and its folder is not read.
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
    // Contents that git tracks are stored in the place already; they need no pack.
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

const throughDescriptors = process.platform === "linux" && existsSync("/proc/self/fd");
const flags = constants.O_RDONLY | (constants.O_DIRECTORY ?? 0) | (constants.O_NOFOLLOW ?? 0);

/**
 * Git opens files by path. While git reads, another process can replace a file or folder by a link,
 * and the snapshot would contain any file of the machine. So a content counts only if the file
 * itself, opened without following links, has the same content. Returns the paths that differ.
 */
export async function verifyCapture(
  toplevel: string,
  entries: readonly TrackedEntry[],
  format: ObjectFormat,
): Promise<readonly RawPath[]> {
  const byFolder = new Map<RawPath, TrackedEntry[]>();
  for (const entry of entries) {
    const folder = entry.path.slice(0, Math.max(0, entry.path.lastIndexOf("/")));
    const known = byFolder.get(folder);
    if (known === undefined) byFolder.set(folder, [entry]);
    else known.push(entry);
  }
  const differing: RawPath[] = [];
  for (const [folder, inside] of byFolder) {
    const place = folder === "" ? Buffer.from(toplevel) : rawPlace(toplevel, folder);
    differing.push(...(await verifyFolder(place, inside, format)));
  }
  return differing;
}

async function verifyFolder(
  place: Buffer,
  entries: readonly TrackedEntry[],
  format: ObjectFormat,
): Promise<readonly RawPath[]> {
  let descriptor: number;
  try {
    descriptor = openSync(place, flags);
  } catch {
    return entries.map(({ path }) => path);
  }
  try {
    if (!isAt(descriptor, place)) return entries.map(({ path }) => path);
    const here = throughDescriptors ? `/proc/self/fd/${descriptor}` : place.toString();
    const differing: RawPath[] = [];
    for (const [index, { path, ...entry }] of entries.entries()) {
      if (index % 200 === 199) await yieldToOthers();
      const file = rawPlace(here, path.slice(path.lastIndexOf("/") + 1));
      const seen = await lookAtFile(file, format).catch(() => undefined);
      if (seen === undefined || !isEntry(seen, entry)) differing.push(path);
    }
    return differing;
  } finally {
    closeSync(descriptor);
  }
}

/** False when a link led to another folder. */
function isAt(descriptor: number, place: Buffer): boolean {
  if (!throughDescriptors) return realpathSync.native(place, { encoding: "buffer" }).equals(place);
  return readlinkSync(`/proc/self/fd/${descriptor}`, { encoding: "buffer" }).equals(place);
}

/** The object files of a repository. */
function listStoredObjects(gitDirectory: string): ReadonlySet<string> {
  const folder = join(gitDirectory, "objects");
  return new Set(readdirSync(folder, { recursive: true, encoding: "utf8" }));
}

/**
 * Removes objects that were stored since. Contents that git read by mistake are in no tree, but a
 * child can read the object folder.
 */
function forgetObjectsSince(gitDirectory: string, before: ReadonlySet<string>): void {
  const folder = join(gitDirectory, "objects");
  for (const name of listStoredObjects(gitDirectory)) {
    if (!before.has(name)) rmSync(join(folder, name), { recursive: true, force: true });
  }
}
