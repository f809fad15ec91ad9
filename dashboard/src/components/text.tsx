import { useState } from "react";
import { harmlessLine, harmlessText } from "../../../src/sessions/harmless-text.ts";
import { formatBytes } from "./format-bytes.ts";

interface TextProps {
  readonly children: string;
  /** Longer text is cut. */
  readonly most?: number;
  readonly className?: string;
  /** The beginning of a text in Markdown: shown without its marks. */
  readonly isMarkdown?: boolean;
}

/** A text of anybody in one line: isolated from its surroundings, with nothing in it that hides. */
export function Text({ children, most = 300, className, isMarkdown = false }: TextProps) {
  const line = harmlessLine(children, most);
  return <bdi className={className}>{isMarkdown ? withoutMarks(line) : line}</bdi>;
}

const tableRule = /\|(?:\s?:?-{2,}:?\s?\|)+/;

/** The marks of headings, emphasis, code and tables; a line that has no others stays as it is. */
function withoutMarks(line: string): string {
  const words = tableRule.test(line) ? line.replace(tableRule, " ").replaceAll("|", " ") : line;
  return words
    .replaceAll(/(^|\s)#{1,6}(?=\s)/g, "$1")
    .replaceAll(/\*\*|`+/g, "")
    .replaceAll(/\s{2,}/g, " ")
    .trim();
}

interface LongTextProps {
  readonly children: string;
  readonly className?: string;
  /** All of it at once, for what a person decides about. */
  readonly isWhole?: boolean;
}

const usualLength = 4000;
const mostShown = 2_000_000;

/** A text of anybody as it is, with its lines; what is very long is shown when it is asked for. */
export function LongText({ children, className = "", isWhole: all = false }: LongTextProps) {
  const [isWhole, setWhole] = useState(all);
  const most = isWhole ? mostShown : usualLength;
  const isCut = children.length > most;
  // The cut may split a character: its half is replaced.
  const shown = isCut ? children.slice(0, most).toWellFormed() : children;
  return (
    <div className={`min-w-0 ${className}`}>
      <pre
        dir="auto"
        className="max-h-[60vh] overflow-auto font-mono text-xs leading-[18px] wrap-anywhere whitespace-pre-wrap"
        // biome-ignore lint/a11y/noNoninteractiveTabindex: keyboard users scroll it with keys.
        tabIndex={0}
      >
        {piecesOf(harmlessText(shown)).map((piece, index) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: pieces have no other name, and stay.
          <span key={index} className="piece">
            <bdi>{piece}</bdi>
          </span>
        ))}
        {isCut && "…"}
      </pre>
      {children.length > usualLength && (
        <button
          type="button"
          className="mt-1 text-accent hover:underline"
          onClick={() => setWhole(!isWhole)}
        >
          {isWhole ? "Show less" : `Show all (${formatBytes(children.length)})`}
        </button>
      )}
    </div>
  );
}

const pieceLength = 8000;

/**
 * A line of a megabyte takes a browser many seconds: it is drawn in pieces, each when it comes into
 * sight. They end with a line where there is one.
 */
function piecesOf(text: string): readonly string[] {
  const pieces: string[] = [];
  for (let from = 0; from < text.length; ) {
    const rest = text.slice(from, from + pieceLength);
    const lineEnd = rest.lastIndexOf("\n");
    const isLast = from + rest.length === text.length;
    // A piece is a block of its own, so the line's end at its end is there already.
    const piece = isLast || lineEnd < 0 ? rest : rest.slice(0, lineEnd);
    pieces.push(piece);
    from += piece.length + (isLast || lineEnd < 0 ? 0 : 1);
  }
  return pieces;
}
