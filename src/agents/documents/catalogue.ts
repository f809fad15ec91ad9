/**
 * Lists that can be longer than a prompt has room for: profiles, registered agents and skills. They
 * are ranked by their text. May import nothing but text.ts.
 */

export type WordsOf = (text: string) => readonly string[];

/**
 * The items whose text has words of the query, the best first: rare words count most, repetition
 * counts little, and long texts are not preferred (BM25). Items of equal rank keep their order.
 *
 * @example
 * rankByText(profiles, "review a change", ({ description }) => description)
 */
export function rankByText<Item>(
  items: readonly Item[],
  query: string,
  textOf: (item: Item) => string,
  wordsOf: WordsOf = stemsIn,
): readonly Item[] {
  const wanted = [...new Set(wordsOf(query.slice(0, longestQuery)))];
  if (wanted.length === 0) return [];
  const texts = items.map((item) => wordsOf(textOf(item)));
  const meanLength = texts.reduce((sum, words) => sum + words.length, 0) / items.length;
  const counts = texts.map((words) => countOf(words, wanted));
  const weights = wanted.map((_, index) => {
    const having = counts.filter((count) => (count[index] ?? 0) > 0).length;
    return Math.log(1 + (items.length - having + 0.5) / (having + 0.5));
  });
  const ranked = items.map((item, at) => {
    const length = (texts[at]?.length ?? 0) / meanLength;
    const scores = weights.map((weight, index) => {
      const count = counts[at]?.[index] ?? 0;
      return (weight * count * 2.2) / (count + 1.2 * (0.25 + 0.75 * length));
    });
    return { item, score: scores.reduce((sum, score) => sum + score, 0) };
  });
  return ranked
    .filter(({ score }) => score > 0)
    .sort((left, right) => right.score - left.score)
    .map(({ item }) => item);
}

/** A pasted paragraph is cut: every word of the query is compared with every text. */
const longestQuery = 1000;

function countOf(words: readonly string[], wanted: readonly string[]): readonly number[] {
  const places = new Map(wanted.map((word, index) => [word, index]));
  const counts = wanted.map(() => 0);
  for (const word of words) {
    const place = places.get(word);
    if (place !== undefined) counts[place] = (counts[place] ?? 0) + 1;
  }
  return counts;
}

const stemsIn: WordsOf = (text) =>
  (text.toLowerCase().match(/[\p{L}\p{M}\p{N}]+/gu) ?? []).map(stemOf);

/**
 * A crude English stem, so that "review", "reviewer" and "reviewing" are one word. Words of other
 * languages may lose an ending, in queries and texts alike.
 */
export function stemOf(word: string): string {
  if (word.length < 4) return word;
  const stem = word.replace(endings, "");
  return stem.length < 3 ? word : stem.replace(/([bdfgmnprt])\1$/, "$1");
}

const endings = /(?:at(?:ions?|ors?|es?|ed|ing)|ments?|ions?|ings?|e[dr]s?|ors?|es?|s)$/;

/** The room of a list in a prompt. */
export interface ListRoom {
  readonly bytes: number;
  /** The task: what fits it best is listed first where not all have room. */
  readonly task: string;
  /** How an agent finds what is not listed; empty: there is no way. */
  readonly finder: string;
}

interface Catalogue<Item> {
  readonly tag: string;
  readonly items: readonly Item[];
  readonly room: ListRoom | undefined;
  lineOf(item: Item): string;
  textOf(item: Item): string;
}

/**
 * A list for a prompt; empty without items. Where not all items have room, those that fit the task
 * best are listed, in the order of the items, and the rest is counted.
 */
export function catalogueBlock<Item>(catalogue: Catalogue<Item>): string {
  const { items, lineOf, room, tag } = catalogue;
  if (items.length === 0) return "";
  const lines = new Map(items.map((item) => [item, `  ${lineOf(item)}`]));
  const chosen = room === undefined ? items : chooseWithin(catalogue, lines, room);
  const left = items.length - chosen.length;
  const rest = left === 0 ? [] : [`  ${left} more are not listed. ${room?.finder ?? ""}`.trimEnd()];
  const shown = chosen.flatMap((item) => lines.get(item) ?? []);
  return [`<${tag}>`, ...shown, ...rest, `</${tag}>`].join("\n");
}

function chooseWithin<Item>(
  { items, textOf }: Catalogue<Item>,
  lines: ReadonlyMap<Item, string>,
  { bytes, task }: ListRoom,
): readonly Item[] {
  const sizeOf = (item: Item): number => Buffer.byteLength(lines.get(item) ?? "") + 1;
  const all = items.reduce((sum, item) => sum + sizeOf(item), 0);
  if (all <= bytes) return items;
  const chosen = new Set<Item>();
  let used = 0;
  for (const item of new Set([...rankByText(items, task, textOf), ...items])) {
    const size = sizeOf(item);
    if (used + size > bytes) continue;
    used += size;
    chosen.add(item);
  }
  return items.filter((item) => chosen.has(item));
}
