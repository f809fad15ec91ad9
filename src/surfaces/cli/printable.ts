import { stripHidden, visibleJson } from "../../ports/visible-text.ts";

/** What models, tasks and files say, made safe for a terminal, a pipe or a file. */

/** Lines and tabs stay. */
export function printable(text: string): string {
  return stripHidden(text);
}

/** One line, whatever was in it. */
export function printableLine(text: string): string {
  return stripHidden(text.slice(0, 4000)).replaceAll(/\s+/g, " ").trim();
}

/** The same data, with escapes in place of hidden characters. */
export function printableJson(value: unknown, indent?: number): string {
  return visibleJson(value, indent);
}

/** A text of several lines as a block below a heading. */
export function indented(text: string): string {
  return printable(text)
    .trimEnd()
    .replaceAll(/^(?=.)/gm, "  ");
}
