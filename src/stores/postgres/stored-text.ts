import { foldWords } from "../shared/memory-tables.ts";

/**
 * Postgres cannot store the character zero or half of a surrogate pair, and a task, a prompt or a
 * memory may contain both. They are escaped with a private-use character, which itself is escaped;
 * all other text is stored unchanged, readable for people.
 *
 * Events, contracts and record values are JSON, where neither can occur. They are hashed, and are
 * stored unchanged, without this encoding.
 */
const mark = "\uf8fe";
const zero = "\u0000";

const needsEscape =
  /\uf8fe|[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g;
const marked = /\uf8fe([0-9a-f]{4})/g;

export function encodeText(text: string): string {
  if (text.isWellFormed() && !text.includes(zero) && !text.includes(mark)) return text;
  return text
    .replaceAll(needsEscape, (character) => mark + character.charCodeAt(0).toString(16))
    .replaceAll(zero, `${mark}0000`);
}

function decodeText(stored: string): string {
  if (!stored.includes(mark)) return stored;
  return stored.replaceAll(marked, (_, code: string) =>
    String.fromCharCode(Number.parseInt(code, 16)),
  );
}

export function encodeOrNull(text: string | null): string | null {
  return text === null ? null : encodeText(text);
}

/** A row with its texts as they were before encoding. */
export function decodeRow(row: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const decoded: Record<string, unknown> = {};
  for (const [column, value] of Object.entries(row)) {
    decoded[column] = typeof value === "string" ? decodeText(value) : value;
  }
  return decoded;
}

const mostPositions = 16_000;
/** Postgres stores no more positions of one word than this. */
const mostOfOne = 255;

/**
 * The words of a memory as a Postgres `tsvector`. They are split here and not by a Postgres parser,
 * which treats hosts, numbers and hyphens specially.
 */
export function wordVectorOf(text: string, tags: readonly string[]): string {
  const places = new Map<string, number[]>();
  const words = foldWords(`${text} ${tags.join(" ")}`).slice(0, mostPositions);
  for (const [index, word] of words.entries()) {
    const known = places.get(word) ?? [];
    places.set(word, known);
    if (known.length < mostOfOne) known.push(index + 1);
  }
  return [...places].map(([word, at]) => `'${word}':${at.join(",")}`).join(" ");
}
