import type { DocumentView, OpenDocument, WindowReply } from "./document-request.ts";

type Window = Extract<DocumentView, { kind: "window" }>;

/** Cuts a window out of a text, at the end of a line if there is one. Page breaks are announced. */
export async function cutWindow(
  document: OpenDocument,
  view: Window,
  isLate: () => boolean,
): Promise<WindowReply> {
  const { page, offset, limit } = view;
  const wanted = offset + limit;
  const pieces: string[] = [];
  let length = 0;
  let isWhole = true;
  let hasText = false;
  for await (const part of document.parts(page)) {
    const piece = pieces.length === 0 ? part.text : `\n\n[page ${part.page}]\n${part.text}`;
    pieces.push(piece);
    hasText ||= part.text !== "";
    length += piece.length;
    // One character more than wanted tells that there is more.
    isWhole = length <= wanted && !isLate();
    if (!isWhole && document.pages !== null) break;
  }
  const all = pieces.join("");
  const isMore = all.length > wanted;
  const end = isMore ? placeToCut(all, offset, wanted) : all.length;
  return {
    kind: "window",
    title: document.title,
    pages: document.pages,
    page: document.pages === null ? null : page,
    offset,
    // A document of empty pages has no text: it consists of pictures of pages.
    text: hasText ? all.slice(startOfCharacter(all, offset), end) : "",
    next: isMore || !isWhole ? end : null,
    total: document.pages === null ? all.length : null,
  };
}

/** A line's end in the second half of the window, so that no more than half is given away. */
function placeToCut(text: string, start: number, end: number): number {
  const lineEnd = text.lastIndexOf("\n", end - 1) + 1;
  if (lineEnd > start + (end - start) / 2) return lineEnd;
  const cut = startOfCharacter(text, end);
  return cut > start ? cut : end;
}

/** The start of the character at a place, never between the two halves of one. */
function startOfCharacter(text: string, at: number): number {
  const code = text.charCodeAt(at);
  return code >= 0xdc00 && code <= 0xdfff && at > 0 ? at - 1 : at;
}
