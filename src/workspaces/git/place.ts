import { isUtf8 } from "node:buffer";
import { posix } from "node:path";

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

/** A repository of the person: read, never run, and written only by an integration. */
export interface GitPlace extends CommonPlace {
  readonly kind: "git";
  readonly gitDirectory: string;
  /** The full name of the branch; null when HEAD is detached. */
  readonly branch: string | null;
}

/** A folder without git. */
interface FolderPlace extends CommonPlace {
  readonly kind: "folder";
}

/**
 * A working copy of ours that a child delegates from. The `.git` in it belongs to that child and is
 * never read; what is tracked there is what the runtime's own index says.
 */
export interface CopyPlace extends CommonPlace {
  readonly kind: "copy";
  readonly copyId: string;
}

export type Place = GitPlace | FolderPlace | CopyPlace;

export interface TrackedEntry {
  readonly mode: string;
  readonly object: string;
  /** As git writes it; see `RawPath`. */
  readonly path: string;
}

export const linkMode = "120000";
export const submoduleMode = "160000";
export const executableMode = "100755";

/**
 * A path as git writes it, one character for each byte. File names are bytes, not text: what is
 * only passed on between git and the file system is kept as it is, also when it is no UTF-8.
 */
export type RawPath = string;

export function splitRaw(output: Buffer): readonly RawPath[] {
  const text = output.toString("latin1");
  return text === "" ? [] : text.split("\0").slice(0, -1);
}

export function joinRaw(paths: readonly RawPath[]): Buffer {
  return Buffer.from(paths.map((path) => `${path}\0`).join(""), "latin1");
}

/** For the file system. */
export function rawPlace(folder: string, path: RawPath): Buffer {
  return Buffer.concat([Buffer.from(`${folder}/`), Buffer.from(path, "latin1")]);
}

/** For people and models; null when the name is no text. */
export function textOf(path: RawPath): string | null {
  const bytes = Buffer.from(path, "latin1");
  return isUtf8(bytes) ? bytes.toString("utf8") : null;
}

export function rawOf(path: string): RawPath {
  return Buffer.from(path, "utf8").toString("latin1");
}

/** As text whatever it is, for messages. */
export function shownRaw(path: RawPath): string {
  return Buffer.from(path, "latin1").toString("utf8");
}

/** Below the workspace as its tools name it; what lies outside begins with `../`. */
export function pathInWorkspace(prefix: string, path: string): string {
  return prefix === "" ? path : posix.relative(prefix, path);
}
