/** The mention of a file that is being typed: `@` and what they typed of its path. */
export interface Mention {
  /** The place of the mention in the text. */
  readonly from: number;
  readonly to: number;
  readonly wanted: string;
}

const longest = 200;

/** What is being mentioned before the caret; null: nothing is. */
export function mentionAt(text: string, caret: number): Mention | null {
  const before = text.slice(Math.max(caret - longest - 2, 0), caret);
  // At the beginning of a word: an email address is no mention. A quote that was never closed ends
  // where the next mention begins.
  const [found, start = "", quoted, plain] =
    /(^|[\s([{,;:])@(?:"((?:(?![\s([{,;:]@)[^"\n])*)|([^\s"]*))$/.exec(before) ?? [];
  if (found === undefined) return null;
  const wanted = quoted ?? plain ?? "";
  return { from: caret - found.length + start.length, to: caret, wanted };
}

/** The text with a path in the place of what was typed of it, and where the caret is then. */
export function withMention(
  text: string,
  { from, to }: Mention,
  path: string,
): { readonly text: string; readonly caret: number } {
  const written = /[\s()[\]{},;:]/.test(path) ? `@"${path}"` : `@${path}`;
  const after = text.slice(to).replace(/^"/, "");
  const space = /^\s/.test(after) ? "" : " ";
  return { text: text.slice(0, from) + written + space + after, caret: from + written.length + 1 };
}
