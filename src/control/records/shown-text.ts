/**
 * Texts of the control plane are always in front of a model and often in front of a person, so
 * what cannot be seen in them is refused: control characters, marks that reorder or hide what is
 * read (also the tag characters, in which whole sentences can be written), halves of characters.
 * Joiners stay; some scripts and pictures need them.
 */
const hidden =
  /[\p{Cc}\p{Cs}\u00ad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\u{e0000}-\u{e0fff}]/u;

/** White space that a text of several lines needs. */
const layout = /[\t\n\r]/g;

export interface ShownTextRules {
  /** Tabs and line ends are allowed; whoever shows the text makes one line of it. */
  readonly lines?: boolean;
}

/** The first character that nobody would see, named; undefined when there is none. */
export function findHiddenCharacter(text: string, rules: ShownTextRules = {}): string | undefined {
  const [found] = hidden.exec(rules.lines ? text.replaceAll(layout, " ") : text) ?? [];
  return found === undefined ? undefined : nameCharacter(found);
}

/** `U+202E`; a letter is shown as well, since it is the one that looks like another. */
export function nameCharacter(character: string): string {
  const point = (character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0");
  return /^[\p{L}\p{N}\p{P}\p{S}]/u.test(character) ? `"${character}" (U+${point})` : `U+${point}`;
}

/** Characters as people count them, rather than as JavaScript stores them. */
export function countCharacters(text: string): number {
  let count = 0;
  for (const _ of text) count += 1;
  return count;
}

/** One line, so that no text can pretend to be the next line of a reply. */
export function toOneLine(text: string): string {
  return text.replaceAll(/\s+/g, " ").trim();
}

/** What somebody wrote, in an error message: short, in quotes, and without what cannot be seen. */
export function quote(text: string): string {
  const short = text.length > 80 ? `${text.slice(0, 79)}…` : text;
  return JSON.stringify(short.replaceAll(new RegExp(hidden, "gu"), "\ufffd"));
}
