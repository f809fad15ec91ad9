import { hash } from "node:crypto";
import { realpathSync } from "node:fs";
import { join } from "node:path";
import { isBelow } from "../../contracts/write-roots.ts";
import { readRegularFile } from "../documents/read-text-file.ts";
import type { Profile, ProfileFields, PromptFiles } from "./profile.ts";

/**
 * SHA-256 of what a profile says, so that a contract can name the exact one it was made from.
 * Where it was read from and the order of its keys do not count.
 */
export function profileHash(profile: Profile): string {
  let known = hashes.get(profile);
  if (known === undefined) {
    const { origin: _origin, origins: _origins, project: _project, ...content } = profile;
    known = contentHash(content);
    hashes.set(profile, known);
  }
  return known;
}

/** SHA-256 of plain data, whatever the order of its keys. */
export function contentHash(content: unknown): string {
  return hash("sha256", JSON.stringify(content, sortKeys));
}

/** A profile is a value and is hashed for every delegation made from it. */
const hashes = new WeakMap<Profile, string>();

function sortKeys(_key: string, value: unknown): unknown {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return value;
  return Object.fromEntries(
    Object.entries(value).sort(([left], [right]) => (left < right ? -1 : 1)),
  );
}

/** What comes first in a prompt where a profile names no files, as far as it exists. */
export const defaultBootstrapFiles: readonly string[] = ["AGENTS.md", "ENVIRONMENT.md"];

export const maximumPromptFileBytes = 64 * 1024;

/** The files of the workspace that these fields make a part of the prompt. */
export function promptFilesIn({ bootstrapFiles = [], systemPromptFile }: ProfileFields) {
  return [...bootstrapFiles, ...(systemPromptFile === undefined ? [] : [systemPromptFile])];
}

/**
 * What those files hold now: trusting a project's profile trusts them with it. What cannot be read
 * has a mark that no content has, so a file that appears later is not taken for a trusted one.
 */
export function hashPromptFiles(root: string, fields: ProfileFields): PromptFiles {
  const paths = promptFilesIn(fields);
  return Object.fromEntries(paths.map((path) => [path, hashFile(root, path)]));
}

export function promptFileHash(bytes: Uint8Array): string {
  return hash("sha256", bytes);
}

function hashFile(root: string, path: string): string {
  try {
    const file = realpathSync.native(join(root, path));
    if (!isBelow(file, realpathSync.native(root))) return "outside";
    return promptFileHash(readRegularFile(file, maximumPromptFileBytes));
  } catch {
    return "unreadable";
  }
}
