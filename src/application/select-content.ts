import { resolve } from "node:path";
import { matchGlob, matchPathGlob } from "../contracts/judge-by-rules.ts";

interface Named {
  readonly name: string;
  /** A path, or an origin with the kind of its place: `claude: …`. */
  readonly file: string;
}

/** An origin without the kind of its place: `workspace: …`, `claude: …`. */
export function pathOf(file: string): string {
  return file.replace(/^[a-z][a-z -]*: /, "");
}

/**
 * Whether a word selects a profile, skill or file: by its name, its file, a folder above that, or a
 * pattern over the name or over the path. Only a folder and a pattern are meant to select many.
 */
export function isSelected({ file, name }: Named, word: string, cwd: string): boolean {
  const path = resolve(cwd, word);
  const own = pathOf(file);
  if (name === word || own === path || own.startsWith(`${path}/`)) return true;
  if (!isPattern(word)) return false;
  return word.includes("/") ? matchPathGlob(path, own) : matchGlob(word, name);
}

function isPattern(word: string): boolean {
  return /[*?]/.test(word);
}

/** A filter of a list: also a part of the name or the description, or the kind of the place. */
export function isListed(
  each: Named & { readonly description?: string },
  words: readonly string[],
  cwd: string,
): boolean {
  const text = `${each.name}\n${each.description ?? ""}`.toLowerCase();
  return (
    words.length === 0 ||
    words.some((word) => {
      const isPart = !isPattern(word) && text.includes(word.toLowerCase());
      return isPart || kindOf(each.file) === word || isSelected(each, word, cwd);
    })
  );
}

/** The kind of the place that an origin names. */
export function kindOf(origin: string): string {
  return /^[a-z][a-z -]*(?=: )/.exec(origin)?.[0] ?? "configuration";
}
