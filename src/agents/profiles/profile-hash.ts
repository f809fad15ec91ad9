import { hash } from "node:crypto";
import { realpathSync } from "node:fs";
import { join } from "node:path";
import { isBelow } from "../../contracts/write-roots.ts";
import { readRegularFile } from "../documents/read-text-file.ts";
import type { Profile, ProfileFields, PromptFiles } from "./profile.ts";

/**
 * The SHA-256 of the content of a profile, by which a contract names the exact version. The origin
 * and the order of keys do not matter.
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

/** Profiles are immutable, and hashed for every delegation. */
const hashes = new WeakMap<Profile, string>();

function sortKeys(_key: string, value: unknown): unknown {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return value;
  return Object.fromEntries(
    Object.entries(value).sort(([left], [right]) => (left < right ? -1 : 1)),
  );
}

/** The files at the beginning of a prompt, if they exist, for a profile that names none. */
export const defaultBootstrapFiles: readonly string[] = ["AGENTS.md", "ENVIRONMENT.md"];

export const maximumPromptFileBytes = 64 * 1024;

/** The paths of the workspace files that these fields add to the prompt. */
export function promptFilesIn({ bootstrapFiles = [], systemPromptFile }: ProfileFields) {
  return [...bootstrapFiles, ...(systemPromptFile === undefined ? [] : [systemPromptFile])];
}

/**
 * The current hashes of those files: trust in a project's profile includes them. A file that cannot
 * be read gets a mark that is no hash, so that a file that appears later is not trusted.
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
