import type { Style } from "../../cli/style.ts";
import { wrapText } from "./wrap-text.ts";

const fence = /^\s*(?:```|~~~)/;
const heading = /^#{1,6} /;
const strong = /\*\*(?<inner>[^*\n]+)\*\*/g;
const code = /`(?<inner>[^`\n]+)`/g;

/**
 * What an agent said, with the little of Markdown that helps in a terminal: headings and what is
 * bold stand out, code keeps its lines. Everything else stays as it was written.
 */
export function drawProse(text: string, width: number, { paint }: Style): readonly string[] {
  let isCode = false;
  return text
    .trim()
    .split("\n")
    .flatMap((line) => {
      if (fence.test(line)) {
        isCode = !isCode;
        return wrapText(line, width).map(paint.dim);
      }
      if (isCode) return wrapText(line, width).map(paint.accent);
      if (heading.test(line)) return wrapText(line, width).map(paint.strong);
      return wrapText(line, width).map((piece) =>
        piece
          .replaceAll(code, (_all, inner: string) => paint.accent(inner))
          .replaceAll(strong, (_all, inner: string) => paint.strong(inner)),
      );
    });
}
