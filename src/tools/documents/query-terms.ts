/** Words of scripts that put none between them are taken character by character. */
const word = /\p{Script=Han}|[\p{Script=Hiragana}\p{Script=Katakana}]|[\p{L}\p{N}_]+/gu;
const mostTerms = 24;

export interface TermMatch {
  /** By term. */
  readonly counts: readonly number[];
  readonly distinct: number;
  readonly words: number;
  /** Whether the words stand there as they were asked. */
  readonly isPhrase: boolean;
}

export class QueryTerms {
  readonly #terms: readonly string[];
  readonly #phrase: string;
  readonly #known = new Map<string, number>();

  constructor(query: string) {
    this.#terms = [...new Set(wordsOf(query))].slice(0, mostTerms);
    this.#phrase = fold(query).replaceAll(/\s+/g, " ").trim();
  }

  get size(): number {
    return this.#terms.length;
  }

  count(text: string): TermMatch {
    const counts = new Array<number>(this.#terms.length).fill(0);
    let words = 0;
    let distinct = 0;
    for (const found of wordsOf(text)) {
      words += 1;
      const term = this.#termOf(found);
      if (term < 0) continue;
      if (counts[term] === 0) distinct += 1;
      counts[term] = (counts[term] ?? 0) + 1;
    }
    const isPhrase =
      distinct > 0 &&
      distinct === this.size &&
      this.size > 1 &&
      fold(text).replaceAll(/\s+/g, " ").includes(this.#phrase);
    return { counts, distinct, words, isPhrase };
  }

  #termOf(found: string): number {
    const known = this.#known.get(found);
    if (known !== undefined) return known;
    let term = this.#terms.indexOf(found);
    if (term < 0) term = this.#terms.findIndex((each) => areForms(each, found));
    if (this.#known.size < 50_000) this.#known.set(found, term);
    return term;
  }
}

/** One word with another ending: payment, payments; the difference is small and the stem is not. */
function areForms(left: string, right: string): boolean {
  const [short, long] = left.length < right.length ? [left, right] : [right, left];
  return short.length >= 4 && long.length - short.length <= 3 && long.startsWith(short);
}

function wordsOf(text: string): string[] {
  return fold(text).match(word) ?? [];
}

function fold(text: string): string {
  return text.normalize("NFKC").toLowerCase();
}
