import type { StoredEvent } from "../../events/event.ts";
import { controlRunId } from "../../ports/identity.ts";
import type { Append } from "../../ports/store.ts";
import type { RecordChanges } from "./transaction.ts";

export interface Pending {
  readonly append: Append;
  /** Set when the events are decided at the time of writing, from the stored records. */
  readonly records: RecordChanges | undefined;
  /** Set when a run is taken over: the worker that must be dead at the time of writing. */
  readonly claimedFrom: string | undefined;
  readonly resolve: (events: readonly StoredEvent[]) => void;
  readonly reject: (error: unknown) => void;
}

/** About how many events one transaction takes, so that it blocks the event loop only briefly. */
const eventsPerTransaction = 1500;

/** Appends in the order of the calls, waiting for the transaction that they will share. */
export class AppendQueue {
  #pending: Pending[] = [];

  get isEmpty(): boolean {
    return this.#pending.length === 0;
  }

  add(
    append: Append,
    records: RecordChanges | undefined,
    claimedFrom?: string,
  ): Promise<readonly StoredEvent[]> {
    const done = new Promise<readonly StoredEvent[]>((resolve, reject) => {
      this.#pending.push({ append, records, claimedFrom, resolve, reject });
    });
    // A caller may look at the result later; until then a refusal must not be an unhandled
    // rejection.
    done.catch(ignore);
    return done;
  }

  /** Takes as many appends as one transaction should hold. */
  take(): Pending[] {
    let events = 0;
    let count = 0;
    while (count < this.#pending.length && events < eventsPerTransaction) {
      const next = this.#pending[count];
      events += next?.records?.changes.length ?? next?.append.events.length ?? 0;
      count++;
    }
    if (count === this.#pending.length) {
      const all = this.#pending;
      this.#pending = [];
      return all;
    }
    return this.#pending.splice(0, count);
  }
}

/**
 * Record changes are appended to the control log; their events are decided at the time of writing.
 */
export const appendToControlLog: Append = { runId: controlRunId, by: "operator", events: [] };

/** Gives each caller the result of its append. */
export function settle(
  pending: readonly Pending[],
  outcomes: readonly (readonly StoredEvent[] | Error)[],
): void {
  for (const [index, one] of pending.entries()) {
    const outcome = outcomes[index];
    if (outcome instanceof Error) one.reject(outcome);
    else one.resolve(outcome ?? []);
  }
}

function ignore(): void {}
