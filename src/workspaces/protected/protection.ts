import { lstatSync, readdirSync, readlinkSync, realpathSync } from "node:fs";
import { basename, dirname, join, relative, resolve, sep } from "node:path";
import { isBelow } from "../../contracts/write-roots.ts";
import { realPathOr } from "../../files.ts";
import { linksOnTheWay } from "../processes/find-program.ts";
import { type ProtectedPath, protectedPaths } from "./protected-paths.ts";

/** Characters that HFS+ ignores in names, so that `.g\u200cit` is `.git` to it. */
const ignorable = /[\u200c-\u200f\u202a-\u202e\u206a-\u206f\ufeff]/gu;

/** Plain names need no more than lower case; everything that a file system could read otherwise does. */
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

/** The names by which FAT and NTFS find a file too: `.git` is also `git~1`. Already folded. */
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
  /** The entry of the list. */
  readonly rule: string;
  readonly reason: string;
}

interface Node {
  readonly exact: Map<string, Node>;
  readonly patterns: { readonly pattern: RegExp; readonly node: Node }[];
  protection?: Protection;
}

/** How far the names of a folder have gone along paths of the list. Empty for nearly every folder. */
export type Trail = readonly Node[];

/** What one more name means where a trail has come to. */
interface Step {
  /** The entry is protected, with all that is below it. */
  readonly protection?: Protection;
  /** Where the names below it go on; a link with one in it leads to what is protected. */
  readonly trail: Trail;
}

const anywhere = grow(protectedPaths.filter(({ atRoot }) => atRoot !== true));
const belowRoot = grow(protectedPaths.filter(({ atRoot }) => atRoot === true));
const nowhere: Trail = Object.freeze([]);
const noStep: Step = Object.freeze({ trail: nowhere });

/**
 * Where the trails of a workspace begin. Of the folders around it only beginnings count: a folder
 * that a person chose to work in is open, although it may itself be one of the protected.
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
 * Why a file below a workspace cannot be written; undefined where it can. A file in the place of a
 * folder that holds protected paths counts as well: as a link it would bring them along.
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

/** What would be protected below a folder of this trail. */
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
  // Under its own name, so that it is found again; no file can have one with a `*` by accident.
  exact.set(name, node);
  for (const short of shortNames(name.replace("*", ""))) exact.set(short, node);
  if (name.includes("*") && !patterns.some((each) => each.node === node)) {
    const literal = name.split("*").map((part) => part.replace(/[.\\+?^${}()|[\]]/g, "\\$&"));
    patterns.push({ pattern: new RegExp(`^${literal.join(".*")}$`, "s"), node });
  }
  return node;
}

/** At the root of every workspace, whatever is around them; by what Mandate itself reads. */
const always = [".mandate", "mandate.yaml", "profiles"];
const emptyFolders = protectedPaths.flatMap(({ path, isFolder }) =>
  isFolder === true ? [path] : [],
);

/**
 * The places at a workspace's root where an empty folder can stand while a command runs, so that it
 * cannot create something else there. Only where the folder around is there: what else would be
 * covered with it is not protected. What has no place here is found when the command has ended.
 */
export function standInsOf(root: string): readonly string[] {
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
 * Whether git takes a folder with these entries for a repository, whatever the folder is called: git
 * then obeys the settings there, in that folder and below it. Git also checks what HEAD names; other
 * programs do not.
 */
export function isGitDirectory(has: (name: GitDirectoryName) => boolean): boolean {
  return has("HEAD") && (has("commondir") || (has("objects") && has("refs")));
}

export type GitDirectoryName = "HEAD" | "commondir" | "objects" | "refs";

/** Which of the names that make a repository an entry has; `HEAD` and `commondir` are no folders. */
export function gitDirectoryName(name: string, isFolder: boolean): GitDirectoryName | undefined {
  if (name.length > longestName) return undefined;
  const found = gitDirectoryNames.get(foldedName(name));
  return isFolder && (found === "HEAD" || found === "commondir") ? undefined : found;
}

const gitDirectoryNames = new Map(
  (["HEAD", "commondir", "objects", "refs"] as const).map((name) => [foldedName(name), name]),
);
// Longer than any of them, for the characters that a file system ignores.
const longestName = 32;

/**
 * The outermost folder from the root down to a file that is a repository in this sense, or would be
 * once these files are there. `files` are absolute; the file system says what is there already.
 */
export function gitDirectoryAround(root: string, files: readonly string[]): string | undefined {
  const added = new Map<string, Set<GitDirectoryName>>();
  for (const file of files) {
    const names = relative(root, file).split(sep);
    let folder = root;
    for (const [depth, name] of names.entries()) {
      const known = added.get(folder) ?? new Set();
      if (known.size === 0) added.set(folder, known);
      const part = gitDirectoryName(name, depth < names.length - 1);
      if (part !== undefined) known.add(part);
      folder = `${folder}${sep}${name}`;
    }
  }
  const missing: string[] = [];
  for (const [folder, parts] of added) {
    // A path may have thousands of folders: below one that is missing nothing is looked for.
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
    return gitDirectoryName(name, status.isDirectory()) !== undefined;
  } catch {
    return false;
  }
}

/** Where the links at a workspace's root lead, inside it, that are in the place of something protected. */
export function linkedPlaces(root: string): readonly string[] {
  return protectedLinks(root, trailOf(root)).map(linkTargetOf).filter(isInside(root));
}

/** The same with every link on the way: replaced by another, it would lead elsewhere. */
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

/** Where a link leads, or would lead if something were there. */
export function linkTargetOf(link: string): string {
  try {
    return realpathSync(link);
  } catch {
    return readLink(link);
  }
}

/** The links that a link leads through, itself left out; folders on the way may be some. */
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
