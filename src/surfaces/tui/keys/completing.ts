import { oneLine } from "../../../text.ts";
import type { ChatCandidate, ChatState, Completion } from "../chat-state.ts";
import { type Editor, editorWith, emptyEditor } from "./editor.ts";

/** A file that is mentioned where the cursor is: `@src/ti`. */
export interface Mention {
  /** The place of the mention's `@`. */
  readonly from: number;
  readonly wanted: string;
}

export function mentionAt({ cursor, text }: Editor): Mention | undefined {
  const begun = /(?:^|\s)@(?<wanted>[^\s@]{0,200})$/.exec(text.slice(0, cursor));
  const wanted = begun?.groups?.["wanted"];
  return wanted === undefined ? undefined : { from: cursor - wanted.length - 1, wanted };
}

/** The text with a mentioned file in place of what was typed of it. */
export function mentioning(editor: Editor, { from }: Mention, path: string): ChatCandidate {
  const before = `${editor.text.slice(0, from)}@${path}`;
  const text = before + editor.text.slice(editor.cursor);
  return { text, label: `@${path}`, description: "", cursor: before.length };
}

/** Whether completions exist for this text: a command, or a mentioned file. */
export function isCompletable(editor: Editor): boolean {
  if (editor.text.startsWith("/")) return !editor.text.includes("\n");
  return mentionAt(editor) !== undefined;
}

/** The editor with a completion, and a space to type behind it. */
export function completed({ cursor, text }: ChatCandidate): Editor {
  if (cursor === undefined) return editorWith(`${text} `);
  const isBeforeSpace = text[cursor] === " ";
  const spaced = isBeforeSpace ? text : `${text.slice(0, cursor)} ${text.slice(cursor)}`;
  return { text: spaced, cursor: cursor + 1 };
}

const mostFound = 50;

/** What was said before with these letters in it, the latest first. */
export function searched(state: ChatState, editor: Editor): ChatState {
  const wanted = editor.text.toLowerCase();
  const found = state.history.said.filter((text) => text.toLowerCase().includes(wanted));
  const candidates = found
    .slice(-mostFound)
    .reverse()
    .map((text) => ({ text, label: oneLine(text), description: "" }));
  const completion: Completion | null =
    candidates.length === 0 ? null : { of: editor.text, candidates, chosen: 0 };
  return { ...state, editor, completion };
}

/** Begins to search, or continues to an earlier text. */
export function search(state: ChatState): ChatState {
  const { completion, editor } = state;
  if (state.search === null) {
    const begun = { ...state, search: { draft: editor }, answering: null };
    return searched(begun, editor.text.includes("\n") ? emptyEditor : editor);
  }
  if (completion === null) return state;
  const chosen = Math.min(completion.chosen + 1, completion.candidates.length - 1);
  return { ...state, completion: { ...completion, chosen } };
}

/** Ends the search: with the chosen text, or with what was being typed. */
export function endSearch(state: ChatState, isTaken: boolean): ChatState {
  const { completion, search: begun } = state;
  const found = isTaken ? completion?.candidates[completion.chosen] : undefined;
  const editor = found === undefined ? (begun?.draft ?? emptyEditor) : editorWith(found.text);
  return { ...state, search: null, completion: null, editor };
}
