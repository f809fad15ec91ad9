/**
 * Hidden characters of untrusted text: how to find, remove or show them. Terminals execute control
 * characters, and bidirectional or zero-width characters disguise a text. Every surface and every text
 * that a person approves uses this definition.
 */

/** Scripts that use joiners between letters. */
const joining = [
  ...["Arab", "Syrc", "Mong", "Nkoo", "Thaa", "Deva", "Beng", "Guru", "Gujr", "Orya"],
  ...["Taml", "Telu", "Knda", "Mlym", "Sinh", "Khmr", "Mymr", "Tibt"],
]
  .map((script) => `\\p{scx=${script}}`)
  .join("");

/**
 * Control characters except tabs and line feeds, lone surrogates, line separators, annotations, and all
 * default-ignorable characters. Joiners are allowed inside an emoji or a word of a script that needs
 * them, and a variation selector after an emoji.
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

/** The terminators of operating system commands, such as a title or the address of a link. */
const closings = ["\u0007", "\u001b\\", "\u009c"];

// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is removed.
const codes = /[\u001b\u009b][[\]()#;?]*(?:\d{1,4}(?:[;:]\d{0,4})*)?[\dA-PR-TZcf-nq-uy=><~]/g;
const closed = new RegExp(
  `\\u001b\\][\\s\\S]*?(?:\\u0007|\\u001b\\\\|\\u009c)|${codes.source}`,
  "g",
);

/**
 * Removes terminal sequences, like `stripVTControlCharacters` of Node, but in linear time. Node's searches
 * for a terminator from each opening to the end of the text, and a few kilobytes of openings block the
 * process for minutes. So nothing is searched after the last terminator.
 */
export function stripTerminalCodes(text: string): string {
  const last = Math.max(...closings.map((each) => endOfLast(text, each)));
  return text.slice(0, last).replaceAll(closed, "") + text.slice(last).replaceAll(codes, "");
}

function endOfLast(text: string, closing: string): number {
  const at = text.lastIndexOf(closing);
  return at < 0 ? 0 : at + closing.length;
}

/** Only printable ASCII, tabs and line feeds, like nearly every text: nothing is hidden. */
const plain = /^[\t\n -~]*$/;

/** Removes terminal sequences and hidden characters. Tabs and line feeds stay. */
export function stripHidden(text: string): string {
  if (plain.test(text)) return text;
  const lines = text.toWellFormed().replaceAll("\r\n", "\n");
  return stripTerminalCodes(lines).replaceAll(hidden, "");
}

/** Replaces each hidden character by a visible form, so that nothing is lost. */
export function revealHidden(text: string): string {
  if (plain.test(text)) return text;
  return text.replaceAll("\r\n", "\n").replaceAll(hidden, (character) => {
    const point = character.codePointAt(0) ?? 0;
    // Control pictures: ␛ for escape.
    if (point < 0x20) return String.fromCodePoint(0x2400 + point);
    return point === 0x7f ? "\u2421" : `\\u{${point.toString(16)}}`;
  });
}

/** JSON with escapes in place of hidden characters. */
export function visibleJson(value: unknown, indent?: number): string {
  return (JSON.stringify(value, null, indent) ?? "null").replaceAll(hidden, (character) =>
    [...Array(character.length).keys()]
      .map((index) => `\\u${character.charCodeAt(index).toString(16).padStart(4, "0")}`)
      .join(""),
  );
}

/** The first hidden character. Tabs and line feeds count as visible. */
export function findHidden(text: string): string | undefined {
  return plain.test(text) ? undefined : firstHidden.exec(text)?.[0];
}
