import { graphemesOf } from "../../cli/display-width.ts";
import { printable } from "../../cli/printable.ts";

/** A text that is being written. The cursor stands before the character at this place. */
export interface Editor {
  readonly text: string;
  readonly cursor: number;
}

/** The longest text of the editor; a longer paste belongs in a file. */
export const mostTyped = 200_000;

/** How far around the cursor to look for one character: a pasted line may be very long. */
const nearby = 100;

export const emptyEditor: Editor = { text: "", cursor: 0 };

/** A text that came from elsewhere: said before, or by a command. */
export function editorWith(given: string): Editor {
  const text = printable(given.slice(0, mostTyped));
  return { text, cursor: text.length };
}

/** Inserts typed or pasted text, without control characters. */
export function insert({ cursor, text }: Editor, typed: string): Editor {
  const room = Math.max(0, mostTyped - text.length);
  const clean = printable(typed.replaceAll(/\r\n?/g, "\n")).slice(0, room);
  return {
    text: text.slice(0, cursor) + clean + text.slice(cursor),
    cursor: cursor + clean.length,
  };
}

function removed({ text }: Editor, from: number, to: number): Editor {
  return { text: text.slice(0, from) + text.slice(to), cursor: from };
}

function before({ cursor, text }: Editor): number {
  const line = text.slice(Math.max(lineStartOf(text, cursor), cursor - nearby), cursor);
  return line === "" ? Math.max(0, cursor - 1) : cursor - (graphemesOf(line).at(-1)?.length ?? 1);
}

function after({ cursor, text }: Editor): number {
  const line = text.slice(cursor, Math.min(lineEndOf(text, cursor), cursor + nearby));
  return line === ""
    ? Math.min(text.length, cursor + 1)
    : cursor + (graphemesOf(line)[0]?.length ?? 1);
}

function wordBefore({ cursor, text }: Editor): number {
  return /\S*\s*$/.exec(text.slice(0, cursor))?.index ?? 0;
}

function wordAfter({ cursor, text }: Editor): number {
  return cursor + (/^\s*\S*/.exec(text.slice(cursor))?.[0].length ?? 0);
}

function lineStartOf(text: string, cursor: number): number {
  return text.lastIndexOf("\n", cursor - 1) + 1;
}

function lineEndOf(text: string, cursor: number): number {
  const end = text.indexOf("\n", cursor);
  return end < 0 ? text.length : end;
}

/** Moves to the same column of the line above (-1) or below (1); null at the first or last line. */
export function moveLine({ cursor, text }: Editor, by: -1 | 1): Editor | null {
  const start = lineStartOf(text, cursor);
  const column = cursor - start;
  if (by < 0) {
    if (start === 0) return null;
    const above = lineStartOf(text, start - 1);
    return { text, cursor: Math.min(above + column, start - 1) };
  }
  const end = lineEndOf(text, cursor);
  if (end === text.length) return null;
  return { text, cursor: Math.min(end + 1 + column, lineEndOf(text, end + 1)) };
}

/** The editor's actions, by their names in the key table. */
export const edits = {
  left: (editor: Editor): Editor => ({ ...editor, cursor: before(editor) }),
  right: (editor: Editor): Editor => ({ ...editor, cursor: after(editor) }),
  "word-left": (editor: Editor): Editor => ({ ...editor, cursor: wordBefore(editor) }),
  "word-right": (editor: Editor): Editor => ({ ...editor, cursor: wordAfter(editor) }),
  "line-start": ({ cursor, text }: Editor): Editor => ({ text, cursor: lineStartOf(text, cursor) }),
  "line-end": ({ cursor, text }: Editor): Editor => ({ text, cursor: lineEndOf(text, cursor) }),
  backspace: (editor: Editor): Editor => removed(editor, before(editor), editor.cursor),
  delete: (editor: Editor): Editor => ({
    ...removed(editor, editor.cursor, after(editor)),
    cursor: editor.cursor,
  }),
  "delete-word": (editor: Editor): Editor => removed(editor, wordBefore(editor), editor.cursor),
  "delete-to-start": (editor: Editor): Editor =>
    removed(editor, lineStartOf(editor.text, editor.cursor), editor.cursor),
  "delete-to-end": (editor: Editor): Editor =>
    removed(editor, editor.cursor, lineEndOf(editor.text, editor.cursor)),
  newline: (editor: Editor): Editor => insert(editor, "\n"),
} as const;

export type Edit = keyof typeof edits;

export function isEdit(name: string): name is Edit {
  return Object.hasOwn(edits, name);
}
