import { createHash, type Hash } from "node:crypto";
import { realpathSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { isBelow } from "../../contracts/write-roots.ts";
import { readRegularFile } from "../documents/read-regular-file.ts";
import type { Findings } from "./findings.ts";
import { shorten } from "./tools-place.ts";

const maximumIncludeBytes = 256 * 1024;
const maximumIncludes = 500;

/** The bytes of an agent file and of what it includes; all of them make its hash. */
export class AgentSource {
  readonly #path: string;
  readonly #hash: Hash = createHash("sha256");
  #includes = 0;

  constructor(path: string) {
    this.#path = path;
  }

  /** Throws a plain Error whose message completes "<file>: …". */
  read(maximumBytes: number, root: string | undefined): Buffer {
    if (root !== undefined) {
      const isInside = isBelow(realpathSync.native(this.#path), realpathSync.native(root));
      if (!isInside)
        throw new Error("a symbolic link that points outside its folder; copy the file");
    }
    const bytes = readRegularFile(this.#path, maximumBytes);
    this.#hash.update(bytes);
    return bytes;
  }

  /** Of the source's folder and below, links followed: a repository can point anywhere. */
  include(written: string, findings: Findings): string | undefined {
    const shown = `"${shorten(written)}"`;
    this.#includes += 1;
    if (this.#includes > maximumIncludes) {
      findings.warn(`${shown} is not included: more than ${maximumIncludes} files`);
      return undefined;
    }
    try {
      const folder = realpathSync.native(dirname(this.#path));
      const path = realpathSync.native(resolve(folder, written));
      if (!isBelow(path, folder)) throw new Error("it lies outside of the file's folder");
      const bytes = readRegularFile(path, maximumIncludeBytes);
      this.#hash.update(`\0${written}\0`).update(bytes);
      return decodeLeniently(bytes, findings, shown);
    } catch (error) {
      const { code, message } = error as NodeJS.ErrnoException;
      findings.warn(`${shown} is not included: ${code ?? message}`);
      return undefined;
    }
  }

  hash(): string {
    return this.#hash.copy().digest("hex");
  }
}

/** Text of another program: bytes that are no UTF-8 become a mark, and are told of. */
export function decodeLeniently(bytes: Uint8Array, findings: Findings, shown = "the file"): string {
  const text = new TextDecoder("utf-8").decode(bytes);
  if (text.includes("\uFFFD") && !isUtf8(bytes)) {
    findings.warn(`${shown} is not valid UTF-8; what could not be read is shown as \uFFFD`);
  }
  if (text.includes("\0")) throw new Error("it contains a NUL byte; it is not text");
  return text;
}

function isUtf8(bytes: Uint8Array): boolean {
  try {
    new TextDecoder("utf-8", { fatal: true }).decode(bytes);
    return true;
  } catch {
    return false;
  }
}
