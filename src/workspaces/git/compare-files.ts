import { createHash } from "node:crypto";
import {
  type BigIntStats,
  closeSync,
  constants,
  fstatSync,
  lstatSync,
  openSync,
  readFileSync,
  readlinkSync,
  type Stats,
} from "node:fs";
import { open } from "node:fs/promises";
import { posix } from "node:path";
import { setImmediate as yieldToOthers } from "node:timers/promises";
import { isTemporaryName } from "../open-file.ts";
import {
  executableMode,
  joinRaw,
  linkMode,
  type ObjectFormat,
  type RawPath,
  rawPlace,
  splitRaw,
  type TreeEntry,
} from "./read-git.ts";
import { askGit, type GitContext, runGit } from "./run-git.ts";

/** What is at a path: nothing, a file or link with git's hash of its content, or something else. */
type Sighting =
  | { readonly kind: "nothing" }
  | { readonly kind: "other" }
  | { readonly kind: "entry"; readonly entry: TreeEntry; readonly stats: BigIntStats };

const flags = constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0);

/** Reads the file itself, independent of git's index. Never follows a link. */
export async function lookAtFile(path: string | Buffer, format: ObjectFormat): Promise<Sighting> {
  for (let look = 1; look <= looks; look++) {
    const stats = lstatSync(path, { bigint: true, throwIfNoEntry: false });
    if (stats === undefined) return { kind: "nothing" };
    try {
      return await readEntry(path, format, stats);
    } catch (error) {
      // The entry was removed or replaced between two steps: look again.
      if (!ofReplaced.has((error as NodeJS.ErrnoException).code)) throw error;
    }
  }
  return { kind: "other" };
}

const looks = 3;
const ofReplaced: ReadonlySet<string | undefined> = new Set(["ENOENT", "ELOOP", "EINVAL"]);

async function readEntry(
  path: string | Buffer,
  format: ObjectFormat,
  stats: BigIntStats,
): Promise<Sighting> {
  if (stats.isSymbolicLink()) {
    const target = readlinkSync(path, { encoding: "buffer" });
    const object = hashHeader(format, target.length).update(target).digest("hex");
    return { kind: "entry", entry: { mode: linkMode, object }, stats };
  }
  if (!stats.isFile()) return { kind: "other" };
  return stats.size <= small ? readAtOnce(path, format, stats) : readFile(path, format, stats);
}

const small = 65_536n;

/** Synchronous, since most files are small and awaiting each step would take most of the time. */
function readAtOnce(path: string | Buffer, format: ObjectFormat, stats: BigIntStats): Sighting {
  const descriptor = openSync(path, flags);
  try {
    const opened = fstatSync(descriptor, { bigint: true });
    if (!opened.isFile() || !isSameFile(stats, opened)) return { kind: "other" };
    const object = hashHeader(format, Number(opened.size))
      .update(readFileSync(descriptor))
      .digest("hex");
    if (!isSameFile(opened, fstatSync(descriptor, { bigint: true }))) return { kind: "other" };
    return { kind: "entry", entry: { mode: modeOf(opened), object }, stats: opened };
  } finally {
    closeSync(descriptor);
  }
}

async function readFile(
  path: string | Buffer,
  format: ObjectFormat,
  stats: BigIntStats,
): Promise<Sighting> {
  const file = await open(path, flags);
  try {
    const opened = await file.stat({ bigint: true });
    if (!opened.isFile() || !isSameFile(stats, opened)) return { kind: "other" };
    const hash = hashHeader(format, Number(opened.size));
    const buffer = Buffer.allocUnsafe(Math.min(Math.max(Number(opened.size), 1), 1 << 18));
    for (;;) {
      const { bytesRead } = await file.read(buffer, 0, buffer.length, null);
      if (bytesRead === 0) break;
      hash.update(buffer.subarray(0, bytesRead));
    }
    if (!isSameFile(opened, await file.stat({ bigint: true }))) return { kind: "other" };
    const entry = { mode: modeOf(opened), object: hash.digest("hex") };
    return { kind: "entry", entry, stats: opened };
  } finally {
    await file.close();
  }
}

function modeOf({ mode }: BigIntStats): string {
  return (mode & 0o100n) === 0n ? "100644" : executableMode;
}

function hashHeader(format: ObjectFormat, bytes: number) {
  return createHash(format).update(`blob ${bytes}\0`);
}

/** Whether two stats show one file that was not written in between, as far as its times show. */
export function isSameFile(left: BigIntStats, right: BigIntStats): boolean {
  return left.ino === right.ino && left.size === right.size && left.mtimeNs === right.mtimeNs;
}

export function isEntry(sighting: Sighting, entry: TreeEntry | null): boolean {
  if (entry === null) return sighting.kind === "nothing";
  if (sighting.kind !== "entry") return false;
  return sighting.entry.object === entry.object && sighting.entry.mode === entry.mode;
}

/** What is at a path, links not followed; undefined when nothing is there, also below a file. */
export function entryAt(path: string | Buffer): Stats | undefined {
  try {
    return lstatSync(path);
  } catch (error) {
    const { code = "" } = error as NodeJS.ErrnoException;
    if (code === "ENOENT" || code === "ENOTDIR") return undefined;
    throw error;
  }
}

/** A file or link that differs from the index. */
interface Difference {
  readonly path: RawPath;
  readonly isNew: boolean;
  readonly isLink: boolean;
  readonly bytes: number;
}

export interface Differences {
  readonly present: readonly Difference[];
  readonly removed: readonly RawPath[];
  /** Folders with their own `.git`; their contents are not listed. */
  readonly nested: readonly RawPath[];
  /** Pipes, sockets, devices. */
  readonly special: readonly RawPath[];
}

type WorkTreeContext = GitContext & { readonly workTree: string; readonly signal?: AbortSignal };

/**
 * Compares a work tree with an index: changed files, new files that are not ignored, removed files.
 * Writes nothing.
 */
export async function findDifferences(context: WorkTreeContext): Promise<Differences> {
  const options = { ...context, maximumBytes: 256 * 1024 * 1024 };
  const compare = ["diff-files", "--name-status", "-z", "--no-renames", "--ignore-submodules=all"];
  const [changed, others] = await Promise.all([
    runGit(compare, options),
    runGit(["ls-files", "--others", "--exclude-standard", "-z"], options),
  ]);
  const removed: RawPath[] = [];
  const nested: RawPath[] = [];
  const candidates: { path: RawPath; isNew: boolean }[] = [];
  const statuses = splitRaw(changed.stdout);
  for (let index = 0; index + 1 < statuses.length; index += 2) {
    const path = statuses[index + 1] ?? "";
    if (statuses[index] === "D") removed.push(path);
    else candidates.push({ path, isNew: false });
  }
  for (const path of splitRaw(others.stdout)) {
    if (isTemporaryName(posix.basename(path))) continue;
    if (path.endsWith("/")) nested.push(path.slice(0, -1));
    else candidates.push({ path, isNew: true });
  }
  return { ...(await measure(context.workTree, candidates, removed, nested)) };
}

async function measure(
  folder: string,
  candidates: readonly { readonly path: RawPath; readonly isNew: boolean }[],
  removed: RawPath[],
  nested: RawPath[],
): Promise<Differences> {
  const present: Difference[] = [];
  const special: RawPath[] = [];
  for (const [index, { path, isNew }] of candidates.entries()) {
    if (index % 2000 === 1999) await yieldToOthers();
    const stats = entryAt(rawPlace(folder, path));
    if (stats === undefined) removed.push(path);
    else if (stats.isFile() || stats.isSymbolicLink()) {
      present.push({ path, isNew, isLink: stats.isSymbolicLink(), bytes: stats.size });
    } else if (stats.isDirectory()) {
      // A folder where a file was, listed as one entry: it is a repository.
      removed.push(path);
      nested.push(path);
    } else special.push(path);
  }
  return { present, removed, nested, special };
}

/**
 * Updates an index and writes its tree. `packed`: paths that are probably not stored yet. Their
 * contents go into one pack, which is several times faster than one file for each.
 */
export async function recordDifferences(
  context: GitContext & { readonly signal?: AbortSignal },
  paths: {
    readonly removed: readonly RawPath[];
    readonly loose: readonly RawPath[];
    readonly packed: readonly RawPath[];
  },
): Promise<string> {
  const update = ["update-index", "--add", "--remove", "--replace", "-z", "--stdin"];
  if (paths.removed.length > 0) {
    const input = joinRaw(paths.removed);
    await runGit(["update-index", "--force-remove", "-z", "--stdin"], { ...context, input });
  }
  if (paths.loose.length > 0) {
    await runGit(update, { ...context, input: joinRaw(paths.loose) });
  }
  if (paths.packed.length > 0) {
    const settings = ["core.bigFileThreshold=1"];
    await runGit(update, { ...context, input: joinRaw(paths.packed), settings });
  }
  return askGit(["write-tree"], context);
}
