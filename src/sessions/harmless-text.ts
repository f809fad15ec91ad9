/**
 * Untrusted texts for terminals, pages and editors: hidden characters are replaced by visible ones, so that
 * nothing is executed and nothing is lost.
 */

import { revealHidden, visibleJson } from "../ports/visible-text.ts";
import { clip, oneLine } from "../text.ts";

/** Line feeds and tabs stay. */
export function harmlessText(text: string): string {
  return revealHidden(text);
}

/** One line of at most `most` characters. Reads only the beginning of a long text. */
export function harmlessLine(text: string, most: number): string {
  return clip(oneLine(revealHidden(text.slice(0, most * 8))), most);
}

/** JSON with escapes in place of hidden characters; parsing it gives the same data. */
export function harmlessJson(value: unknown): string {
  return visibleJson(value);
}
