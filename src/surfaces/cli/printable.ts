import { stripHidden, visibleJson } from "../../ports/visible-text.ts";
import type { Io } from "./io.ts";

/** Makes text of models, tasks and files safe for a terminal, a pipe or a file. Lines and tabs stay. */
export function printable(text: string): string {
  return stripHidden(text);
}

/** The text in one line, without control characters. */
export function printableLine(text: string): string {
  return stripHidden(text.slice(0, 4000)).replaceAll(/\s+/g, " ").trim();
}

/** Writes data as JSON, with escapes in place of hidden characters. */
export function printableJson(value: unknown, indent?: number): string {
  return visibleJson(value, indent);
}

/** Prints one JSON document on standard output, as `--json` promises. */
export function printJson({ stdout }: Pick<Io, "stdout">, value: unknown): void {
  stdout.write(`${printableJson(value, 2)}\n`);
}

/** A text of several lines as a block below a heading. */
export function indented(text: string): string {
  return printable(text)
    .trimEnd()
    .replaceAll(/^(?=.)/gm, "  ");
}

/** The text with paths below the current folder as relative ones. */
export function shortPaths(text: string, { cwd }: Pick<Io, "cwd">): string {
  return text.replaceAll(`${cwd}/`, "");
}
