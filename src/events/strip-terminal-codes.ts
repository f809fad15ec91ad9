/** What closes a text that is meant for the terminal itself: a title, the address of a link. */
const closings = ["\u0007", "\u001b\\", "\u009c"];

// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is removed.
const codes = /[\u001b\u009b][[\]()#;?]*(?:\d{1,4}(?:[;:]\d{0,4})*)?[\dA-PR-TZcf-nq-uy=><~]/g;
const closed = new RegExp(
  `\\u001b\\][\\s\\S]*?(?:\\u0007|\\u001b\\\\|\\u009c)|${codes.source}`,
  "g",
);

/**
 * The text without what terminals obey: what `stripVTControlCharacters` of the platform leaves, in
 * linear time. That one looks for a closing from each opening to the end of the text, and a few
 * kilobytes of openings hold the process up for minutes; so none is looked for behind the last.
 */
export function stripTerminalCodes(text: string): string {
  const last = Math.max(...closings.map((each) => endOfLast(text, each)));
  return text.slice(0, last).replaceAll(closed, "") + text.slice(last).replaceAll(codes, "");
}

function endOfLast(text: string, closing: string): number {
  const at = text.lastIndexOf(closing);
  return at < 0 ? 0 : at + closing.length;
}
