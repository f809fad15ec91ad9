import { printable } from "./printable.ts";

/** A text of several lines as a block below a heading. */
export function indented(text: string): string {
  return printable(text)
    .trimEnd()
    .replaceAll(/^(?=.)/gm, "  ");
}
