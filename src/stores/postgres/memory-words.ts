import { foldWords } from "../shared/memory-words.ts";

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
