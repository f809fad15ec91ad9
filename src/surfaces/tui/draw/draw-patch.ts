import { printable } from "../../cli/printable.ts";
import type { Style } from "../../cli/style.ts";
import { wrapText } from "./wrap-text.ts";

/** Lines of git that repeat what the headline of the file says. */
const silent = /^(?:index [0-9a-f]|--- |\+\+\+ )/;
const headline = /^diff --git (?<names>.*)$/;

/**
 * A patch with colours, on lines of at most `width` cells. A line that is continued keeps its sign, so
 * that no part of it can pass for a line of another kind. Only lines between the headline of a file and
 * its first hunk are left out: a question may hold any other text around a patch.
 */
export function drawPatch(text: string, width: number, { paint }: Style): readonly string[] {
  const lines = printable(text.trimEnd()).split("\n");
  let place: "text" | "header" | "hunk" = isPatch(lines) ? "header" : "text";
  return lines.flatMap((line) => {
    const path = pathIn(headline.exec(line)?.groups?.["names"]);
    if (path !== undefined) {
      place = "header";
      return wrapText(path, width).map(paint.strong);
    }
    if (line.startsWith("@@")) {
      place = "hunk";
      return wrapText(line, width).map(paint.accent);
    }
    if (place === "hunk" && !/^(?:[-+ \\]|$)/.test(line)) place = "text";
    if (place === "header" && silent.test(line)) return [];
    if (place !== "hunk") return wrapText(line, width).map(paint.dim);
    const sign = line.slice(0, 1) || " ";
    const tone = sign === "+" ? paint.good : sign === "-" ? paint.bad : paint.dim;
    return wrapText(line.slice(1), Math.max(4, width - 1)).map((piece) => tone(sign + piece));
  });
}

/** The whole text is the patch of one file, as edits have it. */
function isPatch([from = "", to = "", hunk = ""]: readonly string[]): boolean {
  return from.startsWith("--- ") && to.startsWith("+++ ") && hunk.startsWith("@@");
}

/** The path in a diff's head, or both names where they differ. A name may contain the separator. */
function pathIn(names: string | undefined): string | undefined {
  if (names === undefined) return undefined;
  const middle = (names.length - 1) / 2;
  const path = names.slice(2, middle);
  return names === `a/${path} b/${path}` ? path : names;
}
