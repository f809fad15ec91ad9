import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { testFolder } from "../../testing/test-folder.test-support.ts";

/** A folder that is gone when the test is. */
export function makeFolder(): string {
  return testFolder();
}

/** Text, or where a link leads, or null for what is removed. */
export type Contents = Record<string, string | { readonly link: string } | null>;

export function writeFiles(folder: string, contents: Contents): void {
  for (const [path, content] of Object.entries(contents)) {
    const place = join(folder, path);
    mkdirSync(dirname(place), { recursive: true });
    rmSync(place, { recursive: true, force: true });
    if (content === null) continue;
    if (typeof content === "string") writeFileSync(place, content);
    else symlinkSync(content.link, place);
  }
}

/** Git as a person would run it here, with a configuration of their own that says who they are. */
export function git(folder: string, ...args: readonly string[]): string {
  const identity = ["-c", "user.name=Person", "-c", "user.email=person@example.org"];
  return execFileSync("git", [...identity, "-c", "init.defaultBranch=main", ...args], {
    cwd: folder,
    encoding: "utf8",
    stdio: ["ignore", "pipe", "pipe"],
    env: { ...process.env, GIT_CONFIG_GLOBAL: "/dev/null", GIT_CONFIG_NOSYSTEM: "1" },
  }).trimEnd();
}

export function makeRepository(contents: Contents = { "a.txt": "a\n" }): string {
  const folder = join(makeFolder(), "project");
  mkdirSync(folder);
  git(folder, "init", "-q");
  writeFiles(folder, contents);
  commitAll(folder);
  return folder;
}

export function commitAll(folder: string, message = "state"): void {
  git(folder, "add", "-A");
  git(folder, "commit", "-q", "--allow-empty", "-m", message);
}

/** Every file, link and empty folder below a folder, without `.git`: what a person would see. */
export function treeOf(folder: string): Record<string, string> {
  const found: Record<string, string> = {};
  const walk = (path: string): void => {
    for (const name of readdirSync(join(folder, path)).sort()) {
      if (path === "" && name === ".git") continue;
      const here = path === "" ? name : `${path}/${name}`;
      const stats = lstatSync(join(folder, here));
      if (stats.isSymbolicLink()) found[here] = `-> ${readlinkSync(join(folder, here))}`;
      else if (stats.isDirectory()) {
        if (readdirSync(join(folder, here)).length === 0) found[`${here}/`] = "";
        walk(here);
      } else if (!stats.isFile()) found[here] = "special";
      else {
        const mark = (stats.mode & 0o100) === 0 ? "" : "x ";
        found[here] = mark + readFileSync(join(folder, here), "utf8");
      }
    }
  };
  if (existsSync(folder)) walk("");
  return found;
}

/** A hash over every byte below a folder, `.git` included. */
export function fingerprint(folder: string): string {
  const hash = createHash("sha256");
  const walk = (path: string): void => {
    for (const name of readdirSync(path).sort()) {
      const place = join(path, name);
      const stats = lstatSync(place);
      hash.update(`${place}\0${stats.mode}\0`);
      if (stats.isDirectory()) walk(place);
      else if (stats.isSymbolicLink()) hash.update(readlinkSync(place));
      else if (stats.isFile()) hash.update(readFileSync(place));
    }
  };
  walk(folder);
  return hash.digest("hex");
}

/** Times in whole seconds, which is all that git compares. */
export interface IndexTimes {
  /** When the file was last changed in any way, which no program can set. */
  readonly changed: number;
  readonly modified: number;
}

/** When a file was changed and modified, as an index notes it. */
export function timesOf(path: string): IndexTimes {
  const { ctimeMs, mtimeMs } = lstatSync(path);
  return { changed: Math.floor(ctimeMs / 1000), modified: Math.floor(mtimeMs / 1000) };
}

/** Lets an index note other times of a file than it had; the index keeps its own time. */
export function setIndexTimes(index: string, path: string, times: IndexTimes): void {
  const { atimeMs, mtimeMs } = lstatSync(index);
  const bytes = readFileSync(index);
  // An entry: ten numbers of four bytes, the first of each pair of times in seconds; the object's id
  // of twenty bytes; two bytes with the length of the name; the name.
  const name = bytes.indexOf(`${path}\0`);
  const entry = name - 62;
  if (entry < 12 || (bytes.readUInt16BE(name - 2) & 0xfff) !== path.length) {
    throw new Error(`${index} has no entry for ${path}.`);
  }
  bytes.writeUInt32BE(times.changed, entry);
  bytes.writeUInt32BE(times.modified, entry + 8);
  const content = bytes.subarray(0, -20);
  createHash("sha1").update(content).digest().copy(bytes, content.length);
  writeFileSync(index, bytes);
  utimesSync(index, atimeMs / 1000, mtimeMs / 1000);
}

/**
 * Edits a file in place, without changing its length, as if that had been some time ago and in the
 * second in which git wrote these indexes: nothing but the content tells.
 */
export function editInSameSecond(
  folder: string,
  path: string,
  content: string,
  indexes: readonly string[],
): void {
  const file = join(folder, path);
  writeFileSync(file, content);
  const before = Math.floor(lstatSync(file).mtimeMs / 1000) - 10;
  utimesSync(file, before, before);
  for (const index of indexes) {
    setIndexTimes(index, path, timesOf(file));
    utimesSync(index, before, before);
  }
}

export function makeExecutable(path: string): void {
  chmodSync(path, 0o755);
}
