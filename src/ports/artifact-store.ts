/**
 * Where bodies too large for the log are kept, by their hash: keeping one twice is keeping it once.
 * A body is durable when `keep` resolves, because the event that names it must never be more durable
 * than the body itself. What is no hash names nothing.
 */
export interface ArtifactStore {
  keep(body: string): Promise<{ readonly hash: string; readonly bytes: number }>;
  read(hash: string): Promise<string | undefined>;
  /** All that there are, and when each was last kept, in milliseconds since 1970. */
  list(): AsyncIterable<{ readonly hash: string; readonly keptAt: number }>;
  /** Removes one, unless it was kept again since: then an event is about to name it. */
  remove(hash: string, keptBefore: number): Promise<boolean>;
  /** Removes what was left by those who did not live to finish keeping a body, where that can be. */
  removeTorn?(begunBefore: number): Promise<void>;
}
