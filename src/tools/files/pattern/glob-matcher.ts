import { expandBraces } from "./expand-braces.ts";
import { globNode } from "./glob-node.ts";
import { Matcher } from "./matcher.ts";
import { PatternRefused } from "./pattern-node.ts";

export interface GlobMatcher {
  /** Whether a path, relative to the folder that is searched, is meant; `name` is its end. */
  matches(path: string, name: string): boolean;
  /** Whether anything below this folder, relative to the same one, could be. */
  mayHoldMatches(folder: string): boolean;
}

/**
 * A pattern without a slash is about names, in any folder; one with a slash about paths, from the
 * folder that is searched. So it is in .gitignore and in ripgrep.
 */
export function globMatcher(pattern: string): GlobMatcher {
  const globs = expandBraces(pattern).map(normalize);
  const fitsPath = textMatcher(globs.filter(({ isName }) => !isName));
  const fitsName = textMatcher(globs.filter(({ isName }) => isName));
  const prefixes = globs.map(({ glob, isName }) => (isName ? "" : literalFolders(glob)));
  return {
    matches: (path, name) => fitsName(name) || fitsPath(path),
    mayHoldMatches: (folder) => prefixes.some((prefix) => isOnTheWay(prefix, `${folder}/`)),
  };
}

/** Most texts fail by how they begin or end already. */
function textMatcher(globs: readonly Glob[]): (text: string) => boolean {
  if (globs.length === 0) return () => false;
  const edges = globs.map(({ glob }) => edgesOf(glob));
  const options = globs.map(({ glob }) => globNode(glob));
  const matcher = new Matcher({ kind: "choice", options });
  return (text) =>
    edges.some(({ first, last }) => text.endsWith(last) && text.startsWith(first)) &&
    matcher.test(text);
}

interface Glob {
  readonly glob: string;
  /** About the name alone, wherever the file lies. */
  readonly isName: boolean;
}

function normalize(glob: string): Glob {
  // `src/` means what is in it.
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

/** The plain characters at both ends: every text that matches begins and ends in them. */
function edgesOf(glob: string): { readonly first: string; readonly last: string } {
  const first = /^[^*?[\\]*/.exec(glob)?.[0] ?? "";
  return { first, last: /[^*?[\]\\/]*$/.exec(glob)?.[0] ?? "" };
}

function isOnTheWay(prefix: string, folder: string): boolean {
  return prefix.startsWith(folder) || folder.startsWith(prefix);
}
