import { hash } from "node:crypto";
import { type Dirent, readdirSync, readlinkSync } from "node:fs";
import { join, relative, sep } from "node:path";
import { readWholeFile } from "../../files.ts";
import { openSkillFile } from "./open-skill-file.ts";

export interface SkillFiles {
  /** Regular files, relative to the folder, with `/`, sorted. */
  readonly files: readonly string[];
  /** Links, by what they say. They are followed when one is read, never while looking around. */
  readonly links: ReadonlyMap<string, string>;
  readonly folders: readonly string[];
  /** There are more than are named here. */
  readonly isCut: boolean;
}

export interface SkillDigest {
  readonly hash: string;
  /** For each file, what exactly was in it. */
  readonly files: ReadonlyMap<string, string>;
}

const maximumFiles = 500;
const maximumBytes = 8 * 1024 * 1024;
const maximumDepth = 8;
const notLookedInto: ReadonlySet<string> = new Set([".git", "node_modules"]);

/** The content of a skill's folder, as far as that is worth naming. */
export function listSkillFiles(folder: string, limit: number = maximumFiles): SkillFiles {
  const files: string[] = [];
  const links = new Map<string, string>();
  const folders: string[] = [folder];
  let isCut = false;
  for (let index = 0; index < folders.length && !isCut; index += 1) {
    const place = folders[index] ?? folder;
    for (const entry of entriesOf(place)) {
      const path = join(place, entry.name);
      const shown = relative(folder, path).split(sep).join("/");
      if (files.length + links.size + folders.length > limit) {
        isCut = true;
        break;
      }
      if (entry.isFile()) files.push(shown);
      else if (entry.isSymbolicLink()) links.set(shown, readlinkSync(path));
      else if (entry.isDirectory() && !notLookedInto.has(entry.name)) {
        if (shown.split("/").length < maximumDepth) folders.push(path);
        else isCut = true;
      }
    }
  }
  return { files: files.sort(), links, folders, isCut };
}

function entriesOf(place: string): readonly Dirent[] {
  return readdirSync(place, { withFileTypes: true }).sort((left, right) =>
    left.name < right.name ? -1 : 1,
  );
}

/**
 * The hash of everything that can be read through a skill: names, contents and links. Throws an
 * Error when that is more than a person could be asked to trust.
 */
export function digestSkill(folder: string, listed: SkillFiles): SkillDigest {
  if (listed.isCut) {
    throw new Error(
      `more than ${maximumFiles} files or ${maximumDepth} levels of folders; a skill that comes ` +
        "with a repository has to be smaller",
    );
  }
  const files = new Map<string, string>();
  let left = maximumBytes;
  for (const path of listed.files) {
    const file = openSkillFile(folder, path);
    try {
      const bytes = readWholeFile(file.descriptor, left);
      if (bytes === null) {
        throw new Error(
          `more than ${maximumBytes / 1024 / 1024} MB; a skill that comes with a repository has ` +
            "to be smaller",
        );
      }
      left -= bytes.length;
      files.set(path, hash("sha256", bytes));
    } finally {
      file.close();
    }
  }
  const links = [...listed.links].sort(([one], [other]) => (one < other ? -1 : 1));
  return { hash: hash("sha256", JSON.stringify([[...files], links])), files };
}

/** What a person trusts of a project's skill: its name, and everything that can be read through it. */
export function skillHash(name: string, digest: SkillDigest): string {
  return hash("sha256", JSON.stringify(["skill", name, digest.hash]));
}
