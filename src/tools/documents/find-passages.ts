import type { OpenDocument } from "./document-part.ts";
import type { Passage, PassagesReply } from "./document-request.ts";
import { QueryTerms } from "./query-terms.ts";
import { splitPassages, type TextPassage } from "./split-passages.ts";

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
