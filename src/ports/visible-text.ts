/**
 * Which characters of untrusted text a person cannot see, and what to do with them. A terminal
 * obeys control characters; bidirectional and zero-width characters make a text read as another
 * one. Every surface, and every text that a person approves, uses this one definition.
 */

/** Scripts that are spelled with joiners between their letters. */
const joining = [
  ...["Arab", "Syrc", "Mong", "Nkoo", "Thaa", "Deva", "Beng", "Guru", "Gujr", "Orya"],
  ...["Taml", "Telu", "Knda", "Mlym", "Sinh", "Khmr", "Mymr", "Tibt"],
]
  .map((script) => `\\p{scx=${script}}`)
  .join("");

/**
 * Control characters but tabs and line ends, halves of characters, line separators, annotations,
 * and everything that Unicode ignores by default. Joiners stay inside a picture or a word of a
 * script that needs them, and one presentation mark stays behind a picture.
 */
const hiddenSource = [
  "[^\\P{Cc}\\t\\n]|[\\p{Cs}\\u2028\\u2029\\ufff9-\\ufffb]",
  "(?![\\u200c\\u200d\\ufe0e\\ufe0f])\\p{DI}",
  `(?<![${joining}])\\u200c|\\u200c(?![${joining}])`,
  `(?<![\\p{ExtPict}\\p{EMod}\\ufe0f${joining}])\\u200d|\\u200d(?![\\p{ExtPict}${joining}])`,
  "(?<!\\p{Emoji})[\\ufe0e\\ufe0f]",
].join("|");

const hidden = new RegExp(hiddenSource, "gu");
const firstHidden = new RegExp(hiddenSource, "u");

/** What closes a text that is meant for the terminal itself: a title, the address of a link. */
const closings = ["\u0007", "\u001b\\", "\u009c"];

// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is removed.
const codes = /[\u001b\u009b][[\]()#;?]*(?:\d{1,4}(?:[;:]\d{0,4})*)?[\dA-PR-TZcf-nq-uy=><~]/g;
const closed = new RegExp(
  `\\u001b\\][\\s\\S]*?(?:\\u0007|\\u001b\\\\|\\u009c)|${codes.source}`,
  "g",
);

/**
 * The text without terminal sequences: what `stripVTControlCharacters` of the platform leaves, in
 * linear time. That one looks for a closing from each opening to the end of the text, and a few
 * kilobytes of openings block the process for minutes; so none is looked for behind the last.
 */
export function stripTerminalCodes(text: string): string {
  const last = Math.max(...closings.map((each) => endOfLast(text, each)));
  return text.slice(0, last).replaceAll(closed, "") + text.slice(last).replaceAll(codes, "");
}

function endOfLast(text: string, closing: string): number {
  const at = text.lastIndexOf(closing);
  return at < 0 ? 0 : at + closing.length;
}

/** Printable ASCII, tabs and line ends: nothing to look for, and nearly every text is this. */
const plain = /^[\t\n -~]*$/;

/** The text without terminal sequences and hidden characters. Tabs and line ends stay. */
export function stripHidden(text: string): string {
  if (plain.test(text)) return text;
  const lines = text.toWellFormed().replaceAll("\r\n", "\n");
  return stripTerminalCodes(lines).replaceAll(hidden, "");
}

/** The text with a visible form in place of each hidden character: nothing of it is lost. */
export function revealHidden(text: string): string {
  if (plain.test(text)) return text;
  return text.replaceAll("\r\n", "\n").replaceAll(hidden, (character) => {
    const point = character.codePointAt(0) ?? 0;
    // The pictures of control characters: ␛ for escape.
    if (point < 0x20) return String.fromCodePoint(0x2400 + point);
    return point === 0x7f ? "\u2421" : `\\u{${point.toString(16)}}`;
  });
}

/** JSON of the same data, with escapes in place of hidden characters. */
export function visibleJson(value: unknown, indent?: number): string {
  return (JSON.stringify(value, null, indent) ?? "null").replaceAll(hidden, (character) =>
    [...Array(character.length).keys()]
      .map((index) => `\\u${character.charCodeAt(index).toString(16).padStart(4, "0")}`)
      .join(""),
  );
}

/** The first hidden character, or undefined. Tabs and line ends count as visible. */
export function findHidden(text: string): string | undefined {
  return plain.test(text) ? undefined : firstHidden.exec(text)?.[0];
}
