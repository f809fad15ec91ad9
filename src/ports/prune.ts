import type { RunOutcome } from "../events/run-outcome.ts";

/** Which finished runs to remove, and who wants it. */
export interface PruneRequest {
  /** Runs that finished before this, in milliseconds since 1970. */
  readonly finishedBefore: number;
  readonly actor: string;
  /** At most so many in one call. */
  readonly most: number;
  readonly keepFailed?: boolean;
  /** Runs that stay whatever their age: something of theirs is still needed. */
  readonly keep?: ReadonlySet<string>;
  /** Says what would be removed, and removes nothing. */
  readonly dryRun?: boolean;
  /** Not if another process has pruned within so many milliseconds: of several who try, one does. */
  readonly every?: number;
  /**
   * Bodies that nothing refers to are removed when they were last kept before this; absent: a day
   * ago. What was kept lately may be about to be referred to.
   */
  readonly bodiesBefore?: number;
}

export interface PruneReport {
  /** The oldest first. */
  readonly runs: readonly PrunedRun[];
  /** Runs whose log does not hold: a receipt must not vouch for them. */
  readonly damaged: readonly string[];
  /** Old enough, and kept: an open run goes on from them, or the caller wants them. */
  readonly kept: readonly string[];
  /** There may be more than could be removed at once. */
  readonly isMore: boolean;
  /** How many bodies that nothing refers to any more were removed. */
  readonly artifacts: number;
}

export interface PrunedRun {
  readonly runId: string;
  readonly outcome: RunOutcome;
  readonly finishedAt: number;
  readonly events: number;
}
