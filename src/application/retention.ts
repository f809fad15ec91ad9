import type { RetentionConfig } from "../control/config.ts";
import type { Clock } from "../ports/clock.ts";
import { codeOf } from "../ports/database-fault.ts";
import type { Log } from "../ports/log.ts";
import { MandateError } from "../ports/mandate-error.ts";
import { messageOf } from "../ports/message-of.ts";
import type { PruneReport, PruneRequest, Store } from "../ports/store.ts";
import { runsWithCopies } from "./kept-copies.ts";

const hourMs = 60 * 60 * 1000;
const dayMs = 24 * hourMs;

/** The most runs pruned in an hour. */
const mostAtOnce = 2_000;

/** How much earlier than an hour a turn may begin, since clocks differ. */
const slackMs = 60_000;

interface Retention {
  stop(): void;
}

/**
 * Removes old runs once an hour. Of several processes on one database one does, as the database
 * decides.
 */
export function startRetention(
  {
    clock,
    config,
    queues,
    store,
  }: {
    /** The queues, where runs are distributed. */
    readonly queues?: {
      readonly rows: { removeEnded(before: number, most: number): Promise<number> };
    } | null;
    readonly clock: Clock;
    readonly config: { readonly retention: RetentionConfig };
    readonly store: Store;
  },
  home: string,
  log: Log,
): Retention {
  const { days, keepFailed } = config.retention;
  if (days === undefined) return { stop: () => undefined };
  const prune = async (): Promise<void> => {
    try {
      const { artifacts, damaged, runs } = await pruneHome(
        { store, home },
        {
          ...{ actor: "retention", most: mostAtOnce, keepFailed, every: hourMs - slackMs },
          finishedBefore: clock.now() - days * dayMs,
        },
      );
      await queues?.rows.removeEnded(clock.now() - days * dayMs, mostAtOnce);
      if (runs.length > 0) {
        const message = `Pruned: ${runs.length} old runs, ${artifacts} artifacts.`;
        log({ level: "info", code: "runs_pruned", message });
      }
      if (damaged.length > 0) {
        const message = `${damaged.join(", ")} cannot be pruned: their logs are damaged. See mandate verify.`;
        log({ level: "warn", code: "prune_failed", message });
      }
    } catch (error) {
      const message = `Old runs could not be pruned: ${messageOf(error)}`;
      log({ level: "warn", code: "prune_failed", message, error: codeOf(error) });
    }
  };
  void prune();
  const timer = clock.every(hourMs, () => void prune()).unref();
  return { stop: () => timer.cancel() };
}

/**
 * Prunes runs, except those with a copy in this home: without the log its changes could not be
 * merged or discarded.
 */
export async function pruneHome(
  { home, store }: { readonly store: Store; readonly home: string },
  request: Omit<PruneRequest, "keep">,
): Promise<PruneReport> {
  if (store.prune === undefined) {
    throw new MandateError("usage", "This store cannot prune runs.");
  }
  return store.prune({ ...request, keep: await runsWithCopies({ store, home }) });
}
