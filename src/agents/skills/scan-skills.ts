import { join } from "node:path";
import { CallDenied } from "../../ports/mandate-error.ts";
import { messageOf, reasonOf } from "../../ports/message-of.ts";
import { clip } from "../../text.ts";
import { readFrontMatter } from "../documents/front-matter.ts";
import {
  findSkillFolders,
  type SkillDirectory,
  type SkillFolder,
  stampOf,
} from "./find-skill-folders.ts";
import { type Skill, type SkillProblem, skillName } from "./skill.ts";
import {
  digestSkill,
  listSkillFiles,
  openSkillFile,
  readBeginning,
  type SkillDigest,
  skillHash,
} from "./skill-files.ts";

/** The last valid version of a skill. */
export interface ScannedSkill {
  readonly skill: Skill;
  /** The file name of SKILL.md, in its own spelling. */
  readonly entry: string;
  /** The hash of each file, for a skill that needs trust. */
  readonly digest?: SkillDigest;
  /** The state of the files at the time of reading. */
  readonly stamp: string;
}

/** A folder that claims the name of a skill. */
interface SkillClaim {
  readonly name: string;
  /** The path of SKILL.md, links not resolved. */
  readonly file: string;
  /** Absent: the skill is broken, and blocks its name unless it is a project's. */
  readonly scanned?: ScannedSkill;
}

export interface Scan {
  readonly claims: readonly SkillClaim[];
  readonly byFolder: ReadonlyMap<string, ScannedSkill>;
  readonly problems: readonly SkillProblem[];
  /** The state of each file and folder before it was read. */
  readonly watched: ReadonlyMap<string, string>;
}

const headBytes = 64 * 1024;

/**
 * Scans every folder, and reads only what changed since the previous scan. A skill that became
 * invalid keeps its last valid version. A broken skill of the user blocks its name: another skill
 * of that name is not the one that was meant. Trust decides which skill of a name is used, and is
 * not considered here.
 */
export function scanSkills(directories: readonly SkillDirectory[], previous?: Scan): Scan {
  const claims: SkillClaim[] = [];
  const byFolder = new Map<string, ScannedSkill>();
  const problems: SkillProblem[] = [];
  const watched = new Map<string, string>();
  const seen = new Set<string>();
  for (const directory of directories) {
    const found = findSkillFolders(directory);
    problems.push(...found.problems);
    for (const [place, stamp] of found.looked) watched.set(place, stamp);
    for (const folder of found.skills) {
      // A link to a skill that was found already is the same skill.
      if (seen.has(folder.folder)) continue;
      seen.add(folder.folder);
      const known = previous?.byFolder.get(folder.folder);
      const { scanned, problem } = look(directory, folder, known, watched);
      const { file } = folder;
      const name = scanned?.skill.name ?? claimedName(folder);
      if (problem !== undefined) problems.push({ name, file, message: problem });
      if (scanned !== undefined) {
        claims.push({ name, file, scanned });
        byFolder.set(folder.folder, scanned);
      } else if (directory.isRepository !== true) claims.push({ name, file });
    }
  }
  return { claims, byFolder, problems, watched };
}

/** Whether a file or folder of the scan has changed. */
export function hasChanged({ watched }: Scan): boolean {
  for (const [place, stamp] of watched) if (stampOf(place) !== stamp) return true;
  return false;
}

function look(
  directory: SkillDirectory,
  found: SkillFolder,
  known: ScannedSkill | undefined,
  watched: Map<string, string>,
): { readonly scanned?: ScannedSkill; readonly problem?: string } {
  try {
    const listed = directory.isRepository === true ? listSkillFiles(found.folder) : undefined;
    const places = listed
      ? [...listed.folders, ...listed.files.map((file) => join(found.folder, file))]
      : [found.folder, join(found.folder, found.entry)];
    // The state is read before the content, so that the next scan sees a change during this one.
    const stamps = places.map((place) => stampOf(place));
    for (const [index, place] of places.entries()) watched.set(place, stamps[index] ?? "");
    const stamp = stamps.join();
    if (known !== undefined && known.stamp === stamp) return { scanned: known };
    const digest = listed && digestSkill(found.folder, listed);
    const skill = readSkill(directory, found, digest);
    return { scanned: { skill, entry: found.entry, stamp, ...(digest && { digest }) } };
  } catch (error) {
    const problem = describe(error, found.file);
    if (known === undefined) return { problem };
    return { scanned: known, problem: `${problem}; the version before it is still used` };
  }
}

function readSkill(
  directory: SkillDirectory,
  found: SkillFolder,
  digest: SkillDigest | undefined,
): Skill {
  const { head } = parseSkill(readHead(found), found.file);
  const name = head.name ?? skillName(found.name);
  if (name === "") throw new Error(`${found.file}:1: "name" is missing`);
  return {
    name,
    description: head.description,
    folder: found.folder,
    origin: `${directory.origin}: ${found.file}`,
    ...(digest && { untrustedHash: skillHash(name, digest) }),
    ...(head.isHidden && { hidden: true }),
  };
}

function readHead(found: SkillFolder): string {
  const opened = openSkillFile(found.folder, found.entry);
  try {
    const bytes = readBeginning(opened.descriptor, headBytes);
    return new TextDecoder().decode(bytes, { stream: bytes.length === headBytes });
  } finally {
    opened.close();
  }
}

/** The name that a broken skill claims, as far as it can be read. */
function claimedName(found: SkillFolder): string {
  let written: string | undefined;
  try {
    written = /^[ \t]*name:[ \t]*["']?([^"'#\r\n]{1,200})/m.exec(readHead(found))?.[1];
  } catch {
    // An unreadable file claims no name.
  }
  return skillName(written ?? "") || skillName(found.name);
}

function describe(error: unknown, file: string): string {
  if (error instanceof CallDenied) return `${file}: ${error.message}`;
  const { code } = error as NodeJS.ErrnoException;
  if (/^E[A-Z0-9]+$/.test(String(code))) return `${file}: cannot be read: ${reasonOf(error)}`;
  const message = messageOf(error);
  return message.startsWith(file) ? message : `${file}: ${message}`;
}

/** The front matter of a SKILL.md. */
interface SkillHead {
  /** The name in the file; absent: the name of the folder is used. */
  readonly name?: string;
  readonly description: string;
  readonly isHidden: boolean;
}

interface SkillDocument {
  readonly head: SkillHead;
  readonly body: string;
}

const maximumDescription = 1024;

const options = {
  knownKeys: [
    ...["name", "description", "license", "metadata", "compatibility", "version", "author"],
    ...["allowed-tools", "disable-model-invocation", "user-invocable", "argument-hint"],
  ],
  guardedKeys: ["disable-model-invocation"],
};

/**
 * Reads a SKILL.md, or its beginning. Lenient about syntax, as other readers of such files are;
 * throws an Error that names file and line. Unknown keys are ignored, `allowed-tools` among them:
 * no file grants a tool.
 */
export function parseSkill(text: string, file: string): SkillDocument {
  if (text.includes("\0")) throw new Error(`${file}:1: a NUL byte; the file is not text`);
  const { body, fields, isPresent, lineOf, problems } = readFrontMatter(text, options);
  const error = problems.find(({ severity }) => severity === "error");
  if (error !== undefined) throw new Error(`${file}:${error.line}: ${error.message}`);
  if (!isPresent) {
    throw new Error(`${file}:1: the front matter is missing; begin the file with a line ---`);
  }
  const keys = new Map(Object.entries(fields));
  const description = textOf(keys.get("description"));
  if (description === "") {
    const line = keys.has("description") ? lineOf("description") : 1;
    throw new Error(`${file}:${line}: "description" is missing; say when the skill is of use`);
  }
  const name = skillName(textOf(keys.get("name")));
  return {
    head: {
      ...(name === "" ? {} : { name }),
      description: clip(description, maximumDescription + 1),
      isHidden: hides(keys),
    },
    body: body.trim(),
  };
}

function textOf(value: unknown): string {
  if (typeof value === "number") return String(value);
  return typeof value === "string" ? value.trim() : "";
}

/** Any value but «false» hides the skill: a misspelt value must not show it. */
function hides(keys: ReadonlyMap<string, unknown>): boolean {
  for (const [key, value] of keys) {
    if (key.toLowerCase().replaceAll(/[-_]/g, "") !== "disablemodelinvocation") continue;
    if (value !== false && !/^(?:false|no|off)$/i.test(String(value))) return true;
  }
  return false;
}
