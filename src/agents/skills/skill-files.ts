import { hash } from "node:crypto";
import { type Dirent, readdirSync, readlinkSync, readSync } from "node:fs";
import { isAbsolute, join, relative, sep, win32 } from "node:path";
import { readWholeFile } from "../../files.ts";
import { CallDenied, MandateError } from "../../ports/mandate-error.ts";
import { type OpenFile, openFile } from "../../workspaces/open-file.ts";
import { PathDenied } from "../../workspaces/resolve-inside.ts";
import type { ScannedSkill } from "./scan-skills.ts";

interface SkillFiles {
  /** The regular files, relative to the folder, with `/`, sorted. */
  readonly files: readonly string[];
  /**
   * The links and their targets. A link is followed when it is read, never while the folder is
   * listed.
   */
  readonly links: ReadonlyMap<string, string>;
  readonly folders: readonly string[];
  /** Whether the limit of files was reached. */
  readonly isCut: boolean;
}

export interface SkillDigest {
  readonly hash: string;
  /** The SHA-256 of each file. */
  readonly files: ReadonlyMap<string, string>;
}

const maximumFiles = 500;
/** The most that a skill can hold, all of its files together. */
export const maximumSkillBytes = 8 * 1024 * 1024;
const maximumDepth = 8;
const notLookedInto: ReadonlySet<string> = new Set([".git", "node_modules"]);

/** The files, links and folders of a skill, up to a limit. */
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
 * Hashes everything that can be read through a skill: names, contents and links. Throws an Error
 * when that is more than a person could be asked to trust.
 */
export function digestSkill(folder: string, listed: SkillFiles): SkillDigest {
  if (listed.isCut) {
    throw new Error(
      `more than ${maximumFiles} files or ${maximumDepth} levels of folders; a skill that comes ` +
        "with a repository has to be smaller",
    );
  }
  const files = new Map<string, string>();
  let left = maximumSkillBytes;
  for (const path of listed.files) {
    const file = openSkillFile(folder, path);
    try {
      const bytes = readWholeFile(file.descriptor, left);
      if (bytes === null) {
        throw new Error(
          `more than ${maximumSkillBytes / 1024 / 1024} MB; a skill that comes with a repository has ` +
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

/**
 * The hash that a person trusts: of the name of a project's skill and of everything that can be
 * read through it.
 */
export function skillHash(name: string, digest: SkillDigest): string {
  return hash("sha256", JSON.stringify(["skill", name, digest.hash]));
}

/** The most of one file of a skill that a model is shown. */
export const maximumShownBytes = 256 * 1024;

/** A file of a skill, cut at the most bytes that are shown. */
interface SkillText {
  readonly path: string;
  readonly size: number;
  /** The text of the file; absent for a binary file. */
  readonly text?: string;
  readonly isCut: boolean;
}

/** The content of a file. Throws "conflict" when it is not the content that was trusted. */
export function readSkillText({ digest, skill }: ScannedSkill, file: string): SkillText {
  const opened = openSkillFile(skill.folder, file);
  try {
    const { descriptor, path } = opened;
    let bytes: Buffer;
    if (digest === undefined) {
      bytes = readBeginning(descriptor, maximumShownBytes);
    } else {
      const whole = readWholeFile(descriptor, maximumSkillBytes);
      if (whole === null || digest.files.get(path) !== hash("sha256", whole)) {
        throw new MandateError(
          "conflict",
          `${path} of the skill "${skill.name}" is not what was listed: it has changed since, or ` +
            "is none of its files. A changed skill has to be trusted again.",
        );
      }
      bytes = whole.subarray(0, maximumShownBytes);
    }
    const size = Math.max(opened.stats.size, bytes.length);
    const isCut = bytes.length < size;
    if (bytes.includes(0)) return { path, size, isCut };
    return { path, size, isCut, text: new TextDecoder().decode(bytes, { stream: isCut }) };
  } finally {
    opened.close();
  }
}

/**
 * Opens a file of a skill with the boundary of workspaces: a path or link that leaves the folder,
 * and anything but a regular file, is denied. `folder` is a real path.
 */
export function openSkillFile(folder: string, file: string): OpenFile {
  if (isAbsolute(file) || win32.isAbsolute(file)) throw outside(file);
  const binding = {
    root: folder,
    isolation: "shared",
    allowWrites: false,
    writeRoots: [],
  } as const;
  try {
    return openFile(binding, file);
  } catch (error) {
    // The message about workspaces does not help the reader of a skill.
    if (error instanceof PathDenied && error.rule === "path_outside_workspace") throw outside(file);
    throw error;
  }
}

function outside(file: string): CallDenied {
  return new CallDenied(
    "path_outside_skill",
    `${JSON.stringify(file)} points outside the skill's folder. Name a file below it, such as ` +
      '"references/guide.md"; without a file, load_skill lists what there is.',
  );
}

/** The first bytes of an open file, at most `maximumBytes`. */
export function readBeginning(descriptor: number, maximumBytes: number): Buffer {
  const buffer = Buffer.allocUnsafe(maximumBytes);
  let length = 0;
  while (length < maximumBytes) {
    const count = readSync(descriptor, buffer, length, maximumBytes - length, length);
    if (count === 0) break;
    length += count;
  }
  return Buffer.from(buffer.subarray(0, length));
}
