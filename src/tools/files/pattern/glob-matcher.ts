import { createRequire } from "node:module";
import type { RE2JS } from "re2js";
import { escapeCharacter, noCharacter, PatternRefused } from "./pattern-reader.ts";

export interface GlobMatcher {
  /** Whether a path, relative to the searched folder, matches; `name` is its last segment. */
  matches(path: string, name: string): boolean;
  /** Whether this folder, relative to the searched one, can hold anything that matches. */
  mayHoldMatches(folder: string): boolean;
}

const mostPatterns = 256;
/** The most characters of all globs into which the braces of one expand. */
const mostCharacters = 16_000;

/**
 * A pattern without a slash is about names, in any folder; one with a slash about paths, from the
 * searched folder. The rule is that of .gitignore and of ripgrep.
 */
export function globMatcher(pattern: string): GlobMatcher {
  const globs = expandBraces(pattern).map(normalize);
  if (globs.reduce((sum, { glob }) => sum + glob.length, 0) > mostCharacters) {
    throw new PatternRefused("The braces of this glob stand for too much text. Use fewer, or *.");
  }
  const matchesPath = compileGlobs(globs.filter(({ isName }) => !isName));
  const matchesName = compileGlobs(globs.filter(({ isName }) => isName));
  const prefixes = globs.map(({ glob, isName }) => (isName ? "" : literalFolders(glob)));
  return {
    matches: (path, name) => matchesName(name) || matchesPath(path),
    mayHoldMatches: (folder) => prefixes.some((prefix) => isOnTheWay(prefix, `${folder}/`)),
  };
}

function compileGlobs(globs: readonly Glob[]): (text: string) => boolean {
  if (globs.length === 0) return () => false;
  const compiled = compileGlob(...globs.map(({ glob }) => glob));
  return (text) => compiled.test(text);
}

let engine: typeof RE2JS | undefined;

/** Compiles a pattern of the syntax of RE2. The package is loaded by the first search. */
export function compilePattern(source: string): RE2JS {
  engine ??= (createRequire(import.meta.url)("re2js") as typeof import("re2js")).RE2JS;
  return engine.compile(source);
}

/** Globs, matched against a whole text in linear time. Their braces are ordinary characters. */
export function compileGlob(...globs: readonly string[]): RE2JS {
  return compilePattern(`^(?:${globs.map(globSource).join("|")})$`);
}

interface Glob {
  readonly glob: string;
  /** About the name alone, in any folder. */
  readonly isName: boolean;
}

function normalize(glob: string): Glob {
  // The pattern `src/` means everything below that folder.
  const whole = (glob.endsWith("/") ? `${glob}**` : glob).replace(/^(?:\.?\/)+/, "");
  if (whole.split("/").includes("..")) {
    throw new PatternRefused(
      `The glob ${JSON.stringify(glob)} goes up with "..": it can only look below its folder. ` +
        "Name another folder as path.",
    );
  }
  return { glob: whole, isName: !glob.includes("/") && whole !== "**" };
}

/** The folders at the beginning that are plain names: nothing outside them can match. */
function literalFolders(glob: string): string {
  const folders = glob.split("/").slice(0, -1);
  const special = folders.findIndex((folder) => /[*?[\\]/.test(folder));
  return folders
    .slice(0, special < 0 ? folders.length : special)
    .map((folder) => `${folder}/`)
    .join("");
}

function isOnTheWay(prefix: string, folder: string): boolean {
  return prefix.startsWith(folder) || folder.startsWith(prefix);
}

/**
 * A glob in RE2's syntax, for a whole path: `*` and `?` stay within a segment, `**` as a segment is
 * any number of folders, `[a-z]` and `[!a-z]` are one character.
 */
function globSource(glob: string): string {
  const segments = glob.split("/");
  const last = segments.length - 1;
  return segments
    .map((segment, index) => {
      // At the end `**` is everything below, and something has to be there.
      if (segment === "**") return index === last ? "(?s:.+)" : "(?:[^/]+/)*";
      return segmentSource(segment) + (index === last ? "" : "/");
    })
    .join("");
}

function segmentSource(segment: string): string {
  let source = "";
  for (let at = 0; at < segment.length; at += 1) {
    const character = segment[at] ?? "";
    if (character === "*") {
      while (segment[at + 1] === "*") at += 1;
      source += "[^/]*";
    } else if (character === "?") source += "[^/]";
    else if (character === "[" && classEnd(segment, at) > at) {
      const end = classEnd(segment, at);
      source += classSource(segment.slice(at + 1, end));
      at = end;
    } else {
      if (character === "\\" && at + 1 < segment.length) at += 1;
      const literal = String.fromCodePoint(segment.codePointAt(at) ?? 0);
      at += literal.length - 1;
      source += escapeCharacter(literal);
    }
  }
  return source;
}

/** The POSIX classes that hold a slash, which no class of a glob matches. */
const withoutSlash: Readonly<Record<string, string>> = {
  ...{ ascii: "\\x{0}-\\x{2E}0-\\x{7F}", graph: "\\x{21}-\\x{2E}0-\\x{7E}" },
  ...{
    print: " -\\x{2E}0-\\x{7E}",
    punct: "\\x{21}-\\x{2E}\\x{3A}-\\x{40}\\x{5B}-\\x{60}\\x{7B}-\\x{7E}",
  },
};
const posixClass = /^(?:alnum|alpha|blank|cntrl|digit|lower|space|upper|word|xdigit)$/;

function classSource(inside: string): string {
  const isNegated = /^[!^]/.test(inside);
  let members = "";
  const pattern = /\[:(?<name>\w+):\]|(?<from>\\?.)(?:-(?<to>\\?.))?/gsu;
  for (const { groups } of inside.slice(isNegated ? 1 : 0).matchAll(pattern)) {
    const name = groups?.["name"];
    if (name !== undefined) {
      members += posixClass.test(name) ? `[:${name}:]` : (withoutSlash[name] ?? "");
    } else {
      const from = unescaped(groups?.["from"] ?? "");
      members += rangeSource(from, groups?.["to"] === undefined ? from : unescaped(groups["to"]));
    }
  }
  if (isNegated) return `[^${members}/]`;
  return members === "" ? noCharacter : `[${members}]`;
}

/** A range without the slash. A reversed one holds nothing. */
function rangeSource(from: string, to: string): string {
  const [low, high] = [from.codePointAt(0) ?? 0, to.codePointAt(0) ?? 0];
  if (low > high || (low === 0x2f && high === 0x2f)) return "";
  if (low > 0x2f || high < 0x2f) return `${escapeCharacter(from)}-${escapeCharacter(to)}`;
  return (low < 0x2f ? rangeSource(from, ".") : "") + (high > 0x2f ? rangeSource("0", to) : "");
}

function unescaped(member: string): string {
  return member.length > 1 && member.startsWith("\\") ? member.slice(1) : member;
}

/**
 * `a.{ts,js}` as `a.ts` and `a.js`; braces may be nested. A brace that is not closed, or holds no
 * comma, is a character like any other.
 */
function expandBraces(pattern: string): readonly string[] {
  const group = findGroup(pattern);
  if (group === undefined) return [pattern];
  const before = pattern.slice(0, group.start);
  const after = pattern.slice(group.end + 1);
  const expanded: string[] = [];
  for (const option of group.options) {
    for (const rest of expandBraces(option + after)) {
      expanded.push(before + rest);
      if (expanded.length > mostPatterns) {
        throw new PatternRefused(
          `The braces of this glob stand for more than ${mostPatterns} patterns. Use fewer, or *.`,
        );
      }
    }
  }
  return expanded;
}

interface BraceGroup {
  readonly start: number;
  readonly end: number;
  readonly options: readonly string[];
}

/** The first braces that are a group of options. */
function findGroup(pattern: string): BraceGroup | undefined {
  for (let start = 0; start < pattern.length; start += 1) {
    const character = pattern[start];
    if (character === "\\") start += 1;
    else if (character === "[") start = classEnd(pattern, start);
    else if (character === "{") {
      const group = closeGroup(pattern, start);
      if (group !== undefined) return group;
    }
  }
  return undefined;
}

function closeGroup(pattern: string, start: number): BraceGroup | undefined {
  const options: string[] = [];
  let optionStart = start + 1;
  let depth = 0;
  for (let at = start; at < pattern.length; at += 1) {
    const character = pattern[at];
    if (character === "\\") at += 1;
    else if (character === "[") at = classEnd(pattern, at);
    else if (character === "{") depth += 1;
    else if (character === "}") depth -= 1;
    const isOwnComma = character === "," && depth === 1;
    if (!isOwnComma && depth > 0) continue;
    options.push(pattern.slice(optionStart, at));
    optionStart = at + 1;
    if (depth === 0) return options.length > 1 ? { start, end: at, options } : undefined;
  }
  return undefined;
}

/** The position where a class ends, or that of the bracket when it opens no class. */
export function classEnd(pattern: string, start: number): number {
  // A leading ] is a member.
  const first = /[!^]/.test(pattern[start + 1] ?? "") ? start + 2 : start + 1;
  for (let at = first; at < pattern.length; at += 1) {
    if (pattern[at] === "\\") at += 1;
    else if (pattern.startsWith("[:", at)) {
      const end = pattern.indexOf(":]", at);
      if (end > 0) at = end + 1;
    } else if (pattern[at] === "]" && at > first) return at;
  }
  return start;
}
