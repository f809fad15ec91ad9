import { shorten } from "../cli/display-width.ts";
import { printable } from "../cli/printable.ts";
import type { Style } from "../cli/style.ts";
import { wrapText } from "./wrap-text.ts";

/** As much of a question as there is room for, and how much is missing: it may be a consent. */
export function drawWhole(
  text: string,
  width: number,
  most: number,
  { paint }: Style,
): readonly string[] {
  const lines = wrapText(printable(text.slice(0, 20_000)).trim(), width - 2);
  const missing = lines.length - most;
  const shown = missing > 0 ? lines.slice(0, most - 1) : lines;
  return [
    ...shown.map((line) => `  ${line}`),
    ...(missing > 0
      ? [paint.warn(`  ${shorten(`${missing + 1} more lines: enlarge the window`, width - 2)}`)]
      : []),
  ];
}
