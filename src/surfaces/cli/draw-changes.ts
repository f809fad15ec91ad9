import type { DelegationDiff, DiffedFile } from "../../application/kept-work/diff-of-delegation.ts";
import { countOf } from "./amounts.ts";
import { displayWidth, padEnd } from "./display-width.ts";
import { printableLine } from "./printable.ts";
import type { Paint, Style } from "./style.ts";

/** A patch with colours. Inside a hunk every line begins with its sign. */
export function drawPatch(text: string, { paint }: Style): string {
  let isHunk = false;
  return text
    .split("\n")
    .map((line) => {
      if (line.startsWith("@@")) {
        isHunk = true;
        return paint.accent(line);
      }
      if (!/^[-+ \\]/.test(line)) isHunk = false;
      if (!isHunk) return paint.strong(line);
      if (line.startsWith("+")) return paint.good(line);
      return line.startsWith("-") ? paint.bad(line) : line;
    })
    .join("\n");
}

const letters = { added: "A", changed: "M", removed: "D" } as const;

/** A line for each file, and the sum. */
export function drawStat(
  { files, truncated }: Pick<DelegationDiff, "files" | "truncated">,
  { paint }: Style,
): string[] {
  const paths = files.map(({ path }) => printableLine(path));
  const width = Math.max(0, ...paths.map(displayWidth));
  const added = files.reduce((sum, { lines }) => sum + (lines?.added ?? 0), 0);
  const removed = files.reduce((sum, { lines }) => sum + (lines?.removed ?? 0), 0);
  const sum = `${countOf(files.length, "file")}, ${counts({ added, removed }, paint)}`;
  return [
    ...files.map(({ change, lines }, index) => {
      const mark = paint.dim(letters[change]);
      return `${mark} ${padEnd(paths[index] ?? "", width)}  ${drawLines(lines, truncated, paint)}`;
    }),
    ...(files.length === 0
      ? []
      : [`${sum}${truncated ? ", and more lines than are counted" : ""}`]),
  ];
}

function drawLines(lines: DiffedFile["lines"], truncated: boolean, paint: Paint): string {
  if (lines !== null) return counts(lines, paint);
  return paint.dim(truncated ? "not counted" : "binary");
}

function counts({ added, removed }: NonNullable<DiffedFile["lines"]>, paint: Paint): string {
  return `${paint.good(`+${added}`)} ${paint.bad(`-${removed}`)}`;
}
