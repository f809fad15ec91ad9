import { isUtf8 } from "node:buffer";
import { posix } from "node:path";

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
