import { hash } from "node:crypto";
import { realpathSync } from "node:fs";
import { join } from "node:path";
import { isBelow } from "../../contracts/write-roots.ts";
import { readRegularFile } from "../documents/read-regular-file.ts";
import type { ProfileFields } from "./profile.ts";

/** What comes first in a prompt where a profile names no files, as far as it exists. */
export const defaultBootstrapFiles: readonly string[] = ["AGENTS.md", "ENVIRONMENT.md"];

export const maximumPromptFileBytes = 64 * 1024;

/** For each file that a profile names for its prompt, the SHA-256 of what it holds. */
export type PromptFiles = Readonly<Record<string, string>>;

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
