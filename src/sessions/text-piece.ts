import { headOf, tailOf } from "../text.ts";

/** A part of a long text, bounded whatever the text is. */
export interface TextPiece {
  readonly characters: number;
  readonly lines: number;
  readonly text: string;
  /** Something of what was asked for is not in it. */
  readonly isCut: boolean;
}

export type PieceRequest =
  | { readonly view: "peek" }
  /** Lines, the first one being 1. */
  | { readonly view: "slice"; readonly from: number; readonly lines: number }
  /** Lines that contain a text, each with its number; case does not matter. */
  | { readonly view: "search"; readonly query: string; readonly lines: number };

const longestPiece = 64 * 1024;

export function textPiece(text: string, request: PieceRequest): TextPiece {
  const all = text.split("\n");
  const about = { characters: text.length, lines: all.length };
  if (request.view === "peek") {
    const half = longestPiece / 2;
    if (text.length <= longestPiece) return { ...about, text, isCut: false };
    const ends = `${headOf(text, half)}\n[…]\n${tailOf(text, half)}`;
    return { ...about, text: ends, isCut: true };
  }
  const chosen =
    request.view === "slice"
      ? all.slice(request.from - 1)
      : all
          .map((line, index) => `${index + 1}: ${line}`)
          .filter((_, index) => all[index]?.toLowerCase().includes(request.query.toLowerCase()));
  const shown = chosen.slice(0, request.lines).join("\n");
  const isCut = chosen.length > request.lines || shown.length > longestPiece;
  return { ...about, text: headOf(shown, longestPiece), isCut };
}
