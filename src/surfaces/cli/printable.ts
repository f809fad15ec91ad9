/** What models, tasks and files say, made safe for a terminal, a pipe or a file. */
import { stripHidden, visibleJson } from "../../ports/visible-text.ts";

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
