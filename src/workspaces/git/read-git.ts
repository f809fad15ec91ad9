import { isUtf8 } from "node:buffer";
import { createHash, type Hash } from "node:crypto";
import { posix } from "node:path";
import { startProgram } from "../processes/start-program.ts";
import { GitFailure } from "./git-failure.ts";
import { findGit, type GitContext, gitEnvironment, gitOptions, runGit } from "./run-git.ts";

export interface TrackedFiles {
  readonly entries: readonly TrackedEntry[];
  /** An unfinished merge. */
  readonly unmerged: readonly string[];
  /** Paths that are not checked out (sparse checkout). */
  readonly sparse: readonly string[];
}

/** What an index lists. Reads only the index, no files of the work tree. */
export async function readTracked(context: GitContext): Promise<TrackedFiles> {
  const options = { ...context, maximumBytes: 512 * 1024 * 1024 };
  const { stdout } = await runGit(["ls-files", "--stage", "-v", "-z", "--full-name"], options);
  const entries: TrackedEntry[] = [];
  const unmerged: string[] = [];
  const sparse: string[] = [];
  for (const line of splitRaw(stdout)) {
    const tab = line.indexOf("\t");
    const [tag = "", mode = "", object = "", stage = ""] = line.slice(0, tab).split(" ");
    const path = line.slice(tab + 1);
    // In lower case the tag means that git was told to ignore changes. Changes are searched anyway.
    if (tag.toUpperCase() === "S") sparse.push(path);
    if (stage === "0") entries.push({ mode, object, path });
    else if (unmerged.at(-1) !== path) unmerged.push(path);
  }
  return { entries, unmerged, sparse };
}

/** One side of a changed path: git's mode and the hash of the content. */
export interface TreeEntry {
  readonly mode: string;
  readonly object: string;
}

export interface TreeChange {
  readonly path: RawPath;
  readonly before: TreeEntry | null;
  readonly after: TreeEntry | null;
}

/** The differences between two trees, path by path; a rename is a removed path and a new one. */
export async function readTreeChanges(
  context: GitContext,
  before: string,
  after: string,
): Promise<readonly TreeChange[]> {
  const args = ["diff-tree", "-r", "-z", "--raw", "--no-renames", "--no-abbrev", before, after];
  const { stdout } = await runGit(args, { ...context, maximumBytes: 256 * 1024 * 1024 });
  const fields = splitRaw(stdout);
  const changes: TreeChange[] = [];
  for (let index = 0; index + 1 < fields.length; index += 2) {
    const [from = "", to = "", old = "", now = ""] = (fields[index] ?? "").slice(1).split(" ");
    changes.push({
      path: fields[index + 1] ?? "",
      before: entryOf(from, old),
      after: entryOf(to, now),
    });
  }
  return changes;
}

function entryOf(mode: string, object: string): TreeEntry | null {
  return mode === "000000" ? null : { mode, object };
}

export async function readTreePaths(
  context: GitContext,
  tree: string,
): Promise<readonly RawPath[]> {
  const args = ["ls-tree", "-r", "-z", "--name-only", "--full-tree", tree];
  return splitRaw((await runGit(args, { ...context, maximumBytes: 256 * 1024 * 1024 })).stdout);
}

/** The targets of stored links, by object name. */
export async function readLinks(
  context: GitContext,
  objects: readonly string[],
): Promise<ReadonlyMap<string, string>> {
  const targets = new Map<string, string>();
  if (objects.length === 0) return targets;
  const input = [...new Set(objects)].map((object) => `${object}\n`).join("");
  const { stdout } = await runGit(["cat-file", "--batch"], { ...context, input });
  for (let at = 0; at < stdout.length; ) {
    const end = stdout.indexOf(10, at);
    const [object = "", , size = "0"] = stdout.toString("latin1", at, end).split(" ");
    const next = end + 1 + Number(size);
    targets.set(object, stdout.toString("utf8", end + 1, next));
    at = next + 1;
  }
  return targets;
}

/**
 * The SHA-256 of stored contents, by object name: the hash that evidence uses throughout the log.
 * One git process streams all contents; none is held in memory.
 */
export async function hashContents(
  vault: string,
  objects: Iterable<string>,
): Promise<ReadonlyMap<string, string>> {
  const wanted = [...new Set(objects)];
  const hashes = new Map<string, string>();
  if (wanted.length === 0) return hashes;
  const child = startProgram(
    {
      program: findGit("cat-file"),
      args: [...gitOptions, "cat-file", "--batch", "--buffer"],
      environment: gitEnvironment({ gitDirectory: vault }),
    },
    ["pipe", "pipe", "ignore"],
  );
  const failed = new Promise<never>((_, reject) => {
    child.on("error", (cause) => reject(new GitFailure("missing", "cat-file", {}, { cause })));
  });
  child.stdin.on("error", () => undefined);
  child.stdin.end(wanted.map((object) => `${object}\n`).join(""));
  try {
    await Promise.race([readBatch(child.stdout, hashes), failed]);
  } finally {
    child.kill("SIGKILL");
  }
  if (hashes.size !== wanted.length) {
    throw new GitFailure("exit", "cat-file", { stderr: "some contents are missing" });
  }
  return hashes;
}

async function readBatch(
  stream: AsyncIterable<Buffer>,
  hashes: Map<string, string>,
): Promise<void> {
  let header = "";
  let current: { readonly object: string; readonly hash: Hash; left: number } | undefined;
  for await (const chunk of stream) {
    let rest = chunk;
    while (rest.length > 0) {
      if (current === undefined) {
        const end = rest.indexOf(10);
        header += rest.toString("latin1", 0, end < 0 ? rest.length : end);
        rest = end < 0 ? rest.subarray(rest.length) : rest.subarray(end + 1);
        if (end < 0) continue;
        const [object = "", type, size] = header.split(" ");
        header = "";
        // Each content is followed by a line break, which is the last byte to wait for.
        if (type === "blob")
          current = { object, hash: createHash("sha256"), left: Number(size) + 1 };
        continue;
      }
      const content = rest.subarray(0, Math.min(rest.length, current.left));
      const isEnd = content.length === current.left;
      current.hash.update(isEnd ? content.subarray(0, -1) : content);
      current.left -= content.length;
      rest = rest.subarray(content.length);
      if (!isEnd) continue;
      hashes.set(current.object, current.hash.digest("hex"));
      current = undefined;
    }
  }
}

export type ObjectFormat = "sha1" | "sha256";

interface CommonPlace {
  /** Absolute, links resolved: the folder that a working copy is a copy of. */
  readonly toplevel: string;
  /** The path of the workspace below `toplevel`, with `/`, without a trailing one; "" for all of it. */
  readonly prefix: string;
  readonly objectFormat: ObjectFormat;
  /** Object folders whose content a copy can borrow instead of holding it again. */
  readonly objects: readonly string[];
  /** The commits at which history was cut off, as git's `shallow` file lists them. */
  readonly shallow: string;
  /** The commit that work is on; null before the first one, and where there are none. */
  readonly head: string | null;
}

/**
 * A repository of the person: read, and written only by an integration. Nothing in it is executed.
 */
export interface GitPlace extends CommonPlace {
  readonly kind: "git";
  readonly gitDirectory: string;
}

/** A folder without git. */
interface FolderPlace extends CommonPlace {
  readonly kind: "folder";
}

/**
 * A working copy of Mandate from which a child delegates in turn. The `.git` in it belongs to that
 * child and is never read; the runtime's own index says what is tracked.
 */
export interface CopyPlace extends CommonPlace {
  readonly kind: "copy";
}

export type Place = GitPlace | FolderPlace | CopyPlace;

export interface TrackedEntry {
  readonly mode: string;
  readonly object: string;
  /** The path as git writes it; see `RawPath`. */
  readonly path: string;
}

export const linkMode = "120000";
export const submoduleMode = "160000";
export const executableMode = "100755";

/**
 * A path as git writes it, one character for each byte. File names are bytes, not text: names that
 * are passed between git and the file system are kept unchanged, even if they are not valid UTF-8.
 */
export type RawPath = string;

export function splitRaw(output: Buffer): readonly RawPath[] {
  const text = output.toString("latin1");
  return text === "" ? [] : text.split("\0").slice(0, -1);
}

export function joinRaw(paths: readonly RawPath[]): Buffer {
  return Buffer.from(paths.map((path) => `${path}\0`).join(""), "latin1");
}

/** A path for the file system, as bytes. */
export function rawPlace(folder: string, path: RawPath): Buffer {
  return Buffer.concat([Buffer.from(`${folder}/`), Buffer.from(path, "latin1")]);
}

/** For people and models; null when the name is not valid text. */
export function textOf(path: RawPath): string | null {
  const bytes = Buffer.from(path, "latin1");
  return isUtf8(bytes) ? bytes.toString("utf8") : null;
}

export function rawOf(path: string): RawPath {
  return Buffer.from(path, "utf8").toString("latin1");
}

/** A path as text in any case, for messages. */
export function shownRaw(path: RawPath): string {
  return Buffer.from(path, "latin1").toString("utf8");
}

/** The path relative to the workspace, as its tools name it; outside paths begin with `../`. */
export function pathInWorkspace(prefix: string, path: string): string {
  return prefix === "" ? path : posix.relative(prefix, path);
}
