/**
 * What models, tools and files said is shown in terminals, pages and editors. Hidden characters are
 * made visible here: nothing is obeyed, and nothing that was there is lost.
 */

import { revealHidden, visibleJson } from "../ports/visible-text.ts";
import { clip, oneLine } from "../text.ts";

/** Lines and tabs stay. */
export function harmlessText(text: string): string {
  return revealHidden(text);
}

/** One line of so many characters at most; only as much is looked at as could be shown. */
export function harmlessLine(text: string, most: number): string {
  return clip(oneLine(revealHidden(text.slice(0, most * 8))), most);
}

/** The same data, with escapes in place of what a terminal might obey: reading it gives it back. */
export function harmlessJson(value: unknown): string {
  return visibleJson(value);
}
