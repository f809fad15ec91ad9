/**
 * Texts of the control plane are shown to models and people, so a text that holds a hidden
 * character is refused.
 */

import { findHidden, visibleJson } from "../../ports/visible-text.ts";
import { clip } from "../../text.ts";

export interface ShownTextRules {
  /** Tabs and line ends are allowed; the renderer makes one line of it. */
  readonly lines?: boolean;
}

/** The name of the first invisible character; undefined when there are only visible ones. */
export function findHiddenCharacter(text: string, rules: ShownTextRules = {}): string | undefined {
  const found = rules.lines
    ? findHidden(text.replaceAll("\r", "\n"))
    : (findHidden(text) ?? /[\t\n]/.exec(text)?.[0]);
  return found === undefined ? undefined : nameCharacter(found);
}

/** `U+202E`; a letter is shown as well, since it is the one that looks like another. */
export function nameCharacter(character: string): string {
  const point = (character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0");
  return /^[\p{L}\p{N}\p{P}\p{S}]/u.test(character) ? `"${character}" (U+${point})` : `U+${point}`;
}

/** Characters as people count them, rather than as JavaScript stores them. */
export function countCharacters(text: string): number {
  let count = 0;
  for (const _ of text) count += 1;
  return count;
}

/** Quotes given text in an error message: short, in quotes, and without what cannot be seen. */
export function quote(text: string): string {
  return visibleJson(clip(text, 80));
}
