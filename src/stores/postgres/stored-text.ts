import { foldWords } from "../shared/memory-row.ts";

/**
 * Postgres keeps neither the character zero nor half of a pair in a text, and a task, a prompt or a
 * memory may hold both. They are written as an escape that begins with a character from the end of
 * the private ones, which itself is escaped; every other text stands as it is, for people to read.
 * Events, contracts and values of records are JSON, where neither can occur: they are hashed, and
 * are kept to the letter without this.
 */
const mark = "\uf8fe";
const zero = "\u0000";

const awkward = /\uf8fe|[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g;
const marked = /\uf8fe([0-9a-f]{4})/g;

export function encodeText(text: string): string {
  if (text.isWellFormed() && !text.includes(zero) && !text.includes(mark)) return text;
  return text
    .replaceAll(awkward, (character) => mark + character.charCodeAt(0).toString(16))
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

/** A row whose texts are what they were when they were written. */
export function decodeRow(row: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const decoded: Record<string, unknown> = {};
  for (const [column, value] of Object.entries(row)) {
    decoded[column] = typeof value === "string" ? decodeText(value) : value;
  }
  return decoded;
}

const mostPositions = 16_000;
/** Postgres remembers no more places of one word than this. */
const mostOfOne = 255;

/**
 * The words of a memory as Postgres keeps them for searching, with their places. They are taken
 * apart here and not by one of its parsers, which have opinions about hosts, numbers and hyphens.
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
