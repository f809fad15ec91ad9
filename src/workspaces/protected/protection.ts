import { lstatSync, readdirSync, readlinkSync, realpathSync } from "node:fs";
import { basename, dirname, join, relative, resolve, sep } from "node:path";
import { isBelow } from "../../contracts/write-roots.ts";
import { realPathOr } from "../../files.ts";
import { linksOnTheWay } from "../processes/find-program.ts";
import { type ProtectedPath, protectedPaths } from "./protected-paths.ts";

/** Characters that HFS+ ignores in names: it treats `.g\u200cit` as `.git`. */
const ignorable = /[\u200c-\u200f\u202a-\u202e\u206a-\u206f\ufeff]/gu;

/** Plain names only need lower case; these characters need more. */
const isOdd = /[^!-}]|:|[ .]$/;

/**
 * A name as the most lenient file system compares it: without case, Unicode form, the characters
 * that HFS+ ignores, and the streams, spaces and dots that NTFS ignores at the end.
 */
export function foldedName(name: string): string {
  const lower = name.toLowerCase();
  if (!isOdd.test(name)) return lower;
  const plain = name.replace(ignorable, "").normalize("NFC").toUpperCase().toLowerCase();
  return plain.replace(/:.*$/s, "").replace(/[ .]+$/, "");
}

/**
 * The short names under which FAT and NTFS also find a file: `.git` is also `git~1`. Already
 * folded.
 */
function shortNames(name: string): readonly string[] {
  const dot = name.lastIndexOf(".");
  const base = (dot > 0 ? name.slice(0, dot) : name).replaceAll(".", "");
  const extension = dot > 0 ? name.slice(dot, dot + 4) : "";
  const isShort = !name.startsWith(".") && base.length <= 8 && name.length - dot <= 4;
  if (isShort || (!name.includes(".") && name.length <= 8)) return [];
  return Array.from("123456789", (digit) => `${base.slice(0, 6)}~${digit}${extension}`);
}

/** Why a path is protected. */
interface Protection {
  /** The entry of the list of protected paths. */
  readonly rule: string;
  readonly reason: string;
}

interface Node {
  readonly exact: Map<string, Node>;
  readonly patterns: { readonly pattern: RegExp; readonly node: Node }[];
  protection?: Protection;
}

/**
 * How much of the listed paths the names of a folder have matched. Empty for nearly every folder.
 */
export type Trail = readonly Node[];

/** The result of adding one more name to a trail. */
interface Step {
  /** Set if the entry is protected, with everything below it. */
  readonly protection?: Protection;
  /** The trail for names below; a link with this name leads to protected paths. */
  readonly trail: Trail;
}

const anywhere = grow(protectedPaths.filter(({ atRoot }) => atRoot !== true));
const belowRoot = grow(protectedPaths.filter(({ atRoot }) => atRoot === true));
const nowhere: Trail = Object.freeze([]);
const noStep: Step = Object.freeze({ trail: nowhere });

/**
 * The trail at the root of a workspace. Parent folders only count as the beginning of a path: a
 * folder that a person chose to work in is writable, even if it is protected itself.
 */
export function trailOf(root: string): Trail {
  let trail = nowhere;
  for (const name of root.split("/")) ({ trail } = stepInto(trail, name));
  return [...trail, belowRoot];
}

export function stepInto(trail: Trail, name: string): Step {
  const folded = foldedName(name);
  const first = childOf(anywhere, folded);
  if (first === undefined && trail.length === 0) return noStep;
  const reached = first === undefined ? [] : [first];
  for (const node of trail) {
    const child = childOf(node, folded);
    if (child !== undefined) reached.push(child);
  }
  if (reached.length === 0) return noStep;
  const protection = reached.find((node) => node.protection !== undefined)?.protection;
  const next = reached.filter(({ exact, patterns }) => exact.size > 0 || patterns.length > 0);
  return protection === undefined ? { trail: next } : { protection, trail: next };
}

/**
 * Why a file below a workspace cannot be written; undefined: it can. A file with the name of a
 * folder that contains protected paths counts as well: as a link it would provide them.
 */
export function protectionOf(root: string, path: string): Protection | undefined {
  let trail = trailOf(root);
  for (const name of path.split(/[/\\]/)) {
    const step = stepInto(trail, name);
    if (step.protection !== undefined) return step.protection;
    ({ trail } = step);
  }
  return firstBelow(trail);
}

/** A protected path directly below a folder with this trail, if any. */
export function firstBelow(trail: Trail): Protection | undefined {
  for (const node of trail) {
    if (node === belowRoot) continue;
    const below = [...node.exact.values(), ...node.patterns.map((each) => each.node)];
    const found = below.find(({ protection }) => protection !== undefined);
    if (found?.protection !== undefined) return found.protection;
  }
  return undefined;
}

function childOf({ exact, patterns }: Node, folded: string): Node | undefined {
  return exact.get(folded) ?? patterns.find(({ pattern }) => pattern.test(folded))?.node;
}

function grow(paths: readonly ProtectedPath[]): Node {
  const top: Node = { exact: new Map(), patterns: [] };
  for (const { path, reason } of paths) {
    let node = top;
    for (const name of path.split("/")) node = childFor(node, foldedName(name));
    node.protection ??= { rule: path, reason };
  }
  return top;
}

function childFor({ exact, patterns }: Node, name: string): Node {
  const node: Node = exact.get(name) ?? { exact: new Map(), patterns: [] };
  // The pattern is also stored under its own name, to be found again; no real file has a `*` in its name
  // by accident.
  exact.set(name, node);
  for (const short of shortNames(name.replace("*", ""))) exact.set(short, node);
  if (name.includes("*") && !patterns.some((each) => each.node === node)) {
    const literal = name.split("*").map((part) => part.replace(/[.\\+?^${}()|[\]]/g, "\\$&"));
    patterns.push({ pattern: new RegExp(`^${literal.join(".*")}$`, "s"), node });
  }
  return node;
}

/** At the root of every workspace: Mandate itself reads these. */
const always = [".mandate", "mandate.yaml", "profiles"];
const emptyFolders = protectedPaths.flatMap(({ path, isFolder }) =>
  isFolder === true ? [path] : [],
);

/**
 * The paths at the root of a workspace where an empty folder can stand while a command runs, so
 * that the command cannot create something else there. Only where the parent folder exists:
 * otherwise unprotected names would be covered too. Other protected paths are found when the
 * command has ended.
 */
export function placeholderPathsOf(root: string): readonly string[] {
  const places = emptyFolders
    .map((path) => join(root, path))
    .filter((place) => isFolder(dirname(place)));
  return [...always.map((name) => join(root, name)), ...places];
}

function isFolder(place: string): boolean {
  try {
    return lstatSync(place, { throwIfNoEntry: false })?.isDirectory() === true;
  } catch {
    return false;
  }
}

/**
 * Whether git treats a folder with these entries as a repository, whatever its name: git then obeys
 * its configuration. Git also checks the content of HEAD; other programs do not.
 */
export function isGitDirectory(has: (name: GitDirectoryName) => boolean): boolean {
  return has("HEAD") && (has("commondir") || (has("objects") && has("refs")));
}

export type GitDirectoryName = "HEAD" | "commondir" | "objects" | "refs";

/** The part that an entry plays in a repository by its name; `HEAD` and `commondir` are files. */
export function gitDirectoryName({
  isFolder,
  name,
}: {
  readonly name: string;
  readonly isFolder: boolean;
}): GitDirectoryName | undefined {
  if (name.length > longestName) return undefined;
  const found = gitDirectoryNames.get(foldedName(name));
  return isFolder && (found === "HEAD" || found === "commondir") ? undefined : found;
}

const gitDirectoryNames = new Map(
  (["HEAD", "commondir", "objects", "refs"] as const).map((name) => [foldedName(name), name]),
);
// Longer than any of them, because a file system may ignore some characters.
const longestName = 32;

/**
 * The outermost folder, from the root down to the files, that is a repository in this sense or
 * would be once the files exist. `files` are absolute.
 */
export function gitDirectoryAround(root: string, files: readonly string[]): string | undefined {
  const added = new Map<string, Set<GitDirectoryName>>();
  for (const file of files) {
    const names = relative(root, file).split(sep);
    let folder = root;
    for (const [depth, name] of names.entries()) {
      const known = added.get(folder) ?? new Set();
      if (known.size === 0) added.set(folder, known);
      const part = gitDirectoryName({ name, isFolder: depth < names.length - 1 });
      if (part !== undefined) known.add(part);
      folder = `${folder}${sep}${name}`;
    }
  }
  const missing: string[] = [];
  for (const [folder, parts] of added) {
    // A path may have thousands of folders: nothing is looked up below one that is missing.
    const isMissing = missing.some((above) => folder.startsWith(above)) || !isFolder(folder);
    if (isMissing && parts.size === 0) {
      if (!missing.some((above) => folder.startsWith(above))) missing.push(`${folder}${sep}`);
      continue;
    }
    if (isGitDirectory((name) => parts.has(name) || isThere(folder, name))) return folder;
  }
  return undefined;
}

function isThere(folder: string, name: GitDirectoryName): boolean {
  try {
    const status = lstatSync(`${folder}${sep}${name}`, { throwIfNoEntry: false });
    if (status === undefined) return false;
    return gitDirectoryName({ name, isFolder: status.isDirectory() }) !== undefined;
  } catch {
    return false;
  }
}

/** The targets, inside the root, of links at the root that have a protected name. */
export function linkedPlaces(root: string): readonly string[] {
  return protectedLinks(root, trailOf(root)).map(linkTargetOf).filter(isInside(root));
}

/** The protected paths and all links on the way: replacing a link would change the target. */
export function linkedWays(root: string): readonly string[] {
  const links = protectedLinks(root, trailOf(root));
  return links.flatMap((link) => [linkTargetOf(link), ...linksBehind(link)]).filter(isInside(root));
}

function isInside(root: string): (place: string) => boolean {
  return (place) => place !== root && isBelow(place, root);
}

function protectedLinks(folder: string, trail: Trail): readonly string[] {
  const places: string[] = [];
  for (const entry of entriesOf(folder)) {
    const step = stepInto(trail, entry.name);
    const isWay = firstBelow(step.trail) !== undefined;
    if (step.protection === undefined && !isWay) continue;
    const place = join(folder, entry.name);
    if (entry.isSymbolicLink()) places.push(place);
    else if (entry.isDirectory() && isWay) places.push(...protectedLinks(place, step.trail));
  }
  return places;
}

function entriesOf(folder: string) {
  try {
    return readdirSync(folder, { withFileTypes: true });
  } catch {
    return [];
  }
}

/** The target of a link, whether it exists or not. */
export function linkTargetOf(link: string): string {
  try {
    return realpathSync(link);
  } catch {
    return readLink(link);
  }
}

/** The links that a link leads through, without itself, including folders that are links. */
export function linksBehind(link: string): readonly string[] {
  const itself = join(realPathOr(dirname(link)), basename(link));
  return linksOnTheWay(itself).filter((passed) => passed !== itself);
}

function readLink(link: string): string {
  try {
    return resolve(dirname(link), readlinkSync(link));
  } catch {
    return link;
  }
}
