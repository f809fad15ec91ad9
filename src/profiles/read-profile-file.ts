import { realpathSync } from "node:fs";
import { basename, join } from "node:path";
import { isBelow } from "../contracts/write-roots.ts";
import { readRegularFile } from "../documents/read-regular-file.ts";
import { MandateError } from "../ports/mandate-error.ts";
import { maximumProfileBytes, parseMarkdownProfile } from "./parse-markdown-profile.ts";
import type { Profile } from "./profile.ts";

export interface ProfileDirectory {
  readonly path: string;
  /** What people call this place: "built in", "workspace". */
  readonly origin: string;
  /** Follow links that leave the folder. For folders that only the operator writes. */
  readonly followLinks?: boolean;
}

export interface ProfileProblem {
  /** The name that cannot be used because of it. */
  readonly name: string;
  readonly file: string;
  readonly message: string;
}

/** One file of a profile folder: what it defines, or why it cannot be used and as what. */
export function readProfileFile(
  directory: ProfileDirectory,
  file: string,
): { readonly profile: Profile } | ProfileProblem {
  const path = join(directory.path, file);
  let bytes: Buffer | undefined;
  try {
    if (directory.followLinks !== true) requireNoWayOut(directory.path, path);
    bytes = readRegularFile(path, maximumProfileBytes);
    const profile = parseMarkdownProfile(bytes, path);
    return { profile: { ...profile, origin: `${directory.origin}: ${path}` } };
  } catch (error) {
    const name = claimedName(bytes) ?? basename(file, ".md");
    return { name, file: path, message: describe(error, path) };
  }
}

/** A repository can hold a link to any file of the machine; an error message would quote it. */
function requireNoWayOut(directory: string, path: string): void {
  if (isBelow(realpathSync.native(path), realpathSync.native(directory))) return;
  throw new Error("a symbolic link that leads out of its folder; copy the file instead");
}

/** The name a broken file was meant for, as far as that can be told. */
function claimedName(bytes: Buffer | undefined): string | undefined {
  const start = bytes?.subarray(0, 16_384).toString("utf8");
  return /^name:[ \t]*["']?([a-z0-9][a-z0-9_-]{0,63})["']?[ \t]*(#.*)?\r?$/m.exec(start ?? "")?.[1];
}

function describe(error: unknown, path: string): string {
  if (error instanceof MandateError) return error.message;
  const { code, message } = error as NodeJS.ErrnoException;
  return `${path}: ${code === undefined ? message : `cannot be read (${code})`}`;
}
