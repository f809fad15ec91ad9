/** Checks of texts that models and people see: hidden characters are refused. */

import { findHidden, visibleJson } from "../../ports/visible-text.ts";
import { clip } from "../../text.ts";

export interface ShownTextRules {
  /** Tabs and line ends are allowed; they become spaces when shown. */
  readonly lines?: boolean;
}

/** The name of the first invisible character; undefined: no character is hidden. */
export function findHiddenCharacter(text: string, rules: ShownTextRules = {}): string | undefined {
  const found = rules.lines
    ? findHidden(text.replaceAll("\r", "\n"))
    : (findHidden(text) ?? /[\t\n]/.exec(text)?.[0]);
  return found === undefined ? undefined : nameCharacter(found);
}

/**
 * The code point of a character: `U+202E`. A visible character is shown too, since it can look like
 * another.
 */
export function nameCharacter(character: string): string {
  const point = (character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0");
  return /^[\p{L}\p{N}\p{P}\p{S}]/u.test(character) ? `"${character}" (U+${point})` : `U+${point}`;
}

/** The number of code points. */
export function countCharacters(text: string): number {
  let count = 0;
  for (const _ of text) count += 1;
  return count;
}

/** Quotes a text for an error message: shortened, and without invisible characters. */
export function quote(text: string): string {
  return visibleJson(clip(text, 80));
}
