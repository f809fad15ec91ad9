import { expandBraces } from "./expand-braces.ts";
import { globNode } from "./glob-node.ts";
import { Matcher } from "./matcher.ts";
import { PatternRefused } from "./pattern-node.ts";

export interface GlobMatcher {
  /** Whether a path, relative to the folder that is searched, is meant. */
  matches(path: string): boolean;
  /** Whether anything below this folder, relative to the same one, could be. */
  mayHoldMatches(folder: string): boolean;
}

/**
 * A pattern without a slash is about names, in any folder; one with a slash about paths, from the
 * folder that is searched. So it is in .gitignore and in ripgrep.
 */
export function globMatcher(pattern: string): GlobMatcher {
  const globs = expandBraces(pattern).map(normalize);
  const matcher = new Matcher({ kind: "choice", options: globs.map(globNode) });
  const prefixes = globs.map(literalFolders);
  const endings = globs.map(literalEnding);
  return {
    // Most paths fail by their ending already.
    matches: (path) => endings.some((ending) => path.endsWith(ending)) && matcher.test(path),
    mayHoldMatches: (folder) => prefixes.some((prefix) => isOnTheWay(prefix, `${folder}/`)),
  };
}

function normalize(glob: string): string {
  const isNameOnly = !glob.includes("/");
  // `src/` means what is in it.
  const whole = (glob.endsWith("/") ? `${glob}**` : glob).replace(/^(?:\.?\/)+/, "");
  if (whole.split("/").includes("..")) {
    throw new PatternRefused(
      `The glob ${JSON.stringify(glob)} goes up with "..": it can only look below its folder. ` +
        "Name another folder as path.",
    );
  }
  return isNameOnly && whole !== "**" ? `**/${whole}` : whole;
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

/** The plain characters at the end: every path that matches ends in them. */
function literalEnding(glob: string): string {
  return /[^*?[\]\\/]*$/.exec(glob)?.[0] ?? "";
}

function isOnTheWay(prefix: string, folder: string): boolean {
  return prefix.startsWith(folder) || folder.startsWith(prefix);
}
