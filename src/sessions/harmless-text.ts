/**
 * What models, tools and files said is shown in terminals, pages and editors, and all of these can
 * be made to obey or to hide text. Here everything of that kind is made visible instead: nothing is
 * obeyed, and nothing that was there is gone.
 */
const unseen =
  /[\p{Cc}\p{Cs}\u00ad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\u{e0000}-\u{e0fff}]/gu;

/** Lines and tabs stay. */
export function harmlessText(text: string): string {
  return text.replaceAll("\r\n", "\n").replaceAll(unseen, (character) => {
    if (character === "\n" || character === "\t") return character;
    const point = character.codePointAt(0) ?? 0;
    // The characters that stand for control characters: ␛ for escape.
    if (point < 0x20) return String.fromCodePoint(0x2400 + point);
    return point === 0x7f ? "\u2421" : `\\u{${point.toString(16)}}`;
  });
}

/** One line of so many characters at most; only as much is looked at as could be shown. */
export function harmlessLine(text: string, most: number): string {
  const line = harmlessText(text.slice(0, most * 8))
    .replaceAll(/\s+/g, " ")
    .trim();
  if (line.length <= most) return line;
  // Half a character is none.
  return `${line.slice(0, most - 1).replace(/[\ud800-\udbff]$/, "")}…`;
}

/** The same data, with escapes in place of what a terminal might obey: reading it gives it back. */
export function harmlessJson(value: unknown): string {
  return (JSON.stringify(value) ?? "null").replaceAll(unseen, (character) =>
    [...Array(character.length).keys()]
      .map((index) => `\\u${character.charCodeAt(index).toString(16).padStart(4, "0")}`)
      .join(""),
  );
}
