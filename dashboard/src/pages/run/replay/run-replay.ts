import type { StoredEvent } from "../../../../../src/events/event.ts";
import {
  applyToRun,
  Delegations,
  emptyRun,
  type RunState,
} from "../../../../../src/events/run-state.ts";
import { type DelegationNotes, noteEvent } from "../../../data/delegation-notes.ts";

/** A run as it was after so many of its events. */
export interface RunMoment {
  readonly state: RunState;
  readonly notes: ReadonlyMap<string, DelegationNotes>;
}

interface Place {
  readonly count: number;
  readonly state: RunState;
  readonly notes: Map<string, DelegationNotes>;
}

const betweenCopies = 2000;

/**
 * Goes through the events of a run forwards and back. Forwards it folds on; back it begins at the
 * last copy before, so that a slider over a hundred thousand events follows the hand.
 */
export class RunReplay {
  readonly #events: readonly StoredEvent[];
  readonly #copies: Place[];
  #now: Place;

  /** The list may grow. */
  constructor(runId: string, events: readonly StoredEvent[]) {
    this.#events = events;
    this.#now = { count: 0, state: emptyRun(runId), notes: new Map() };
    this.#copies = [copyOf(this.#now)];
  }

  /** Holds until it is asked for another moment. */
  at(count: number): RunMoment {
    if (count < this.#now.count) {
      const copy = this.#copies.findLast((one) => one.count <= count);
      if (copy !== undefined) this.#now = copyOf(copy);
    }
    let { count: place } = this.#now;
    const { notes, state } = this.#now;
    for (; place < Math.min(count, this.#events.length); place += 1) {
      const event = this.#events[place];
      if (event === undefined) break;
      applyTolerantly(state, event);
      noteEvent(notes, event);
      const done = place + 1;
      if (done % betweenCopies === 0 && done > (this.#copies.at(-1)?.count ?? 0)) {
        this.#copies.push(copyOf({ count: done, state, notes }));
      }
    }
    this.#now = { count: place, state, notes };
    return this.#now;
  }
}

/** A log that was tampered with is shown as far as it makes sense, as the page itself does. */
function applyTolerantly(state: RunState, event: StoredEvent): void {
  try {
    applyToRun(state, event);
  } catch {
    state.lastRunSeq = event.run_seq;
  }
}

function copyOf({ count, notes, state }: Place): Place {
  const copies = new Map<string, DelegationNotes>();
  for (const [id, one] of notes) copies.set(id, { ...one, served: [...one.served] });
  const delegations = new Delegations();
  for (const [id, one] of state.delegations) delegations.set(id, one);
  return { count, state: { ...state, delegations }, notes: copies };
}
