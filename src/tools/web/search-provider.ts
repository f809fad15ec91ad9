import type { Clock } from "../../ports/clock.ts";

export interface SearchResult {
  readonly title: string;
  readonly url: string;
  readonly snippet: string;
}

export interface SearchOptions {
  readonly count: number;
  readonly signal: AbortSignal;
  readonly clock: Clock;
}

/**
 * Asks a search engine. Results come in its order and as it sent them: the caller that shows them cleans
 * them. Rejects with a sentence that holds no key.
 */
export type SearchProvider = (
  query: string,
  options: SearchOptions,
) => Promise<readonly SearchResult[]>;

export interface NamedProvider {
  readonly name: string;
  /** Where it is asked. */
  readonly address: URL;
  readonly search: SearchProvider;
  /** What must not be seen in what comes of it. */
  readonly secrets: readonly string[];
}
