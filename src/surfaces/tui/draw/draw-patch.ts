import { printable } from "../../cli/printable.ts";
import type { Style } from "../../cli/style.ts";
import { wrapText } from "./wrap-text.ts";

/** Lines of git that repeat what the headline of the file says. */
const silent = /^(?:index [0-9a-f]|--- |\+\+\+ )/;
const headline = /^diff --git (?<names>.*)$/;

/**
 * A patch with colours, on lines of at most `width` cells. A line that is continued keeps its sign, so
 * that no part of it can pass for a line of another kind.
 */
export function drawPatch(text: string, width: number, { paint }: Style): readonly string[] {
  let isHunk = false;
  return printable(text.trimEnd())
    .split("\n")
    .flatMap((line) => {
      const path = pathIn(headline.exec(line)?.groups?.["names"]);
      isHunk =
        path === undefined && (line.startsWith("@@") || (isHunk && /^(?:[-+ \\]|$)/.test(line)));
      if (path !== undefined) return wrapText(path, width).map(paint.strong);
      if (line.startsWith("@@")) return wrapText(line, width).slice(0, 1).map(paint.accent);
      if (!isHunk) return silent.test(line) ? [] : wrapText(line, width).map(paint.dim);
      const sign = line.slice(0, 1) || " ";
      const tone = sign === "+" ? paint.good : sign === "-" ? paint.bad : paint.dim;
      return wrapText(line.slice(1), Math.max(4, width - 1)).map((piece) => tone(sign + piece));
    });
}

/** Both names where they differ. A name may contain what separates the two. */
function pathIn(names: string | undefined): string | undefined {
  if (names === undefined) return undefined;
  const middle = (names.length - 1) / 2;
  const path = names.slice(2, middle);
  return names === `a/${path} b/${path}` ? path : names;
}
