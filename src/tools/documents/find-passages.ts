import type { OpenDocument, Passage, PassagesReply } from "./document-request.ts";

interface Candidate extends TextPassage {
  readonly page: number | null;
  readonly counts: readonly number[];
  readonly words: number;
  readonly isPhrase: boolean;
}

/** Enough to choose from; beyond it only what says more than one of the words is kept. */
const mostCandidates = 20_000;

/** The passages that fit the words best, ranked by how rare in the document the words are. */
export async function findPassages(
  document: OpenDocument,
  query: string,
  count: number,
  isLate: () => boolean,
): Promise<PassagesReply> {
  const terms = new QueryTerms(query);
  const candidates: Candidate[] = [];
  let passages = 0;
  let words = 0;
  let stoppedAt: string | null = null;
  let lastPage: number | null = null;
  search: for await (const { page, text } of document.parts(1)) {
    lastPage = page;
    for (const passage of splitPassages(text)) {
      if (passages++ % 64 === 0 && isLate()) {
        stoppedAt = page === null ? `line ${passage.line}` : `page ${page}`;
        break search;
      }
      const match = terms.count(passage.text);
      words += match.words;
      if (match.distinct === 0) continue;
      if (candidates.length >= mostCandidates && match.distinct === 1 && terms.size > 1) continue;
      if (candidates.length < mostCandidates * 2) candidates.push({ ...passage, page, ...match });
    }
  }
  if (stoppedAt === null && lastPage !== null && lastPage < (document.pages ?? 0)) {
    stoppedAt = `page ${lastPage}`;
  }
  const best = rank(candidates, passages, words / Math.max(1, passages)).slice(0, count);
  const { title, pages } = document;
  return { kind: "passages", title, pages, passages: best, stoppedAt };
}

/** BM25: rare words count more, repetition less each time, long passages a little less. */
function rank(candidates: readonly Candidate[], total: number, meanWords: number): Passage[] {
  const columns = candidates[0]?.counts.length ?? 0;
  const weights = Array.from({ length: columns }, (_, term) => {
    const holding = candidates.filter(({ counts }) => (counts[term] ?? 0) > 0).length;
    return Math.log(1 + (total - holding + 0.5) / (holding + 0.5));
  });
  const score = ({ counts, words, isPhrase }: Candidate): number => {
    const length = 0.25 + 0.75 * (words / Math.max(1, meanWords));
    let sum = 0;
    for (const [term, times] of counts.entries()) {
      sum += ((weights[term] ?? 0) * times * 2.2) / (times + 1.2 * length);
    }
    return isPhrase ? sum * 1.5 + 1 : sum;
  };
  return candidates
    .map((candidate) => ({ candidate, points: score(candidate) }))
    .sort((left, right) => right.points - left.points)
    .map(({ candidate: { page, offset, line, heading, text } }) => {
      return { page, offset, line, heading, text: text.trim() };
    });
}

/** Words of scripts that put none between them are taken character by character. */
const word = /\p{Script=Han}|[\p{Script=Hiragana}\p{Script=Katakana}]|[\p{L}\p{N}_]+/gu;
const mostTerms = 24;

interface TermMatch {
  /** The number of hits for each term. */
  readonly counts: readonly number[];
  readonly distinct: number;
  readonly words: number;
  /** Whether the words stand there as they were asked. */
  readonly isPhrase: boolean;
}

class QueryTerms {
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

interface TextPassage {
  readonly offset: number;
  readonly line: number;
  /** The nearest heading above, in documents that mark theirs. */
  readonly heading: string;
  readonly text: string;
}

const longest = 1200;
const shortest = 200;

/** Paragraphs, the short ones together with what follows, the long ones in pieces at line ends. */
function* splitPassages(text: string): Generator<TextPassage> {
  let heading = "";
  let start = 0;
  let line = 1;
  let lineAtStart = 1;
  let at = 0;
  const take = (end: number): TextPassage => {
    const passage = { offset: start, line: lineAtStart, heading, text: text.slice(start, end) };
    start = end;
    lineAtStart = line;
    return passage;
  };
  while (at < text.length) {
    const found = text.indexOf("\n", at);
    const end = found === -1 ? text.length : found + 1;
    const title = /^#{1,6} +(\S.{0,200})/.exec(text.slice(at, Math.min(end, at + 300)))?.[1];
    if (title !== undefined) {
      if (at > start) yield take(at);
      heading = title.trim();
    } else if (end - start > longest && at > start) yield take(at);
    at = end;
    line += 1;
    // A line can be a whole book.
    while (at - start > longest * 2) yield take(start + longest);
    const isBlank = text[at] === "\n" || text[at] === "\r";
    if (isBlank && at - start >= shortest) yield take(at);
  }
  if (start < text.length) yield take(text.length);
}
