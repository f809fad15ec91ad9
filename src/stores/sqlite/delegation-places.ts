import { runIdOf } from "../../ports/identity.ts";
import { type BatchRow, readRows } from "../shared/event-batch.ts";

/** The batches of one run, as far as they were looked through. */
interface RunPlaces {
  through: number;
  /** Where each delegation's events are: the first sequence numbers of their batches, in order. */
  readonly of: Map<string, number[]>;
  count: number;
}

/** A number for each: some megabytes at most. */
const mostPlaces = 500_000;
/** Of small runs it is not the places that cost. */
const mostRuns = 32;

/**
 * In which batches of a run something is said of each delegation. An index on disk would cost every
 * transaction for what is asked for rarely; this one is made on request, kept for the runs
 * that were asked about last, and continues where it was when they grow.
 */
export class DelegationPlaces {
  readonly #runs = new Map<number, RunPlaces>();
  #count = 0;

  /**
   * Looks through what was added since, and gives a turn to others after each page, with an empty
   * piece. Many may look through one run side by side, for each of its delegations: each continues
   * where the others are. It may be dropped from the cache; the reader keeps what was found.
   */
  *lookThrough(
    run: number,
    pageAfter: (firstSeq: number) => readonly BatchRow[],
  ): Generator<readonly never[], RunPlaces> {
    const places = this.#placesOf(run);
    for (;;) {
      const page = pageAfter(places.through);
      if (page.length === 0) return places;
      for (const row of page) this.#note(places, row);
      yield [];
    }
  }

  forget(run: number): void {
    this.#count -= this.#runs.get(run)?.count ?? 0;
    this.#runs.delete(run);
  }

  #placesOf(run: number): RunPlaces {
    const known = this.#runs.get(run) ?? { through: 0, of: new Map(), count: 0 };
    // The one that was asked about last is the last one to be forgotten.
    this.#runs.delete(run);
    this.#runs.set(run, known);
    for (const oldest of this.#runs.keys()) {
      const isEnough = this.#count <= mostPlaces && this.#runs.size <= mostRuns;
      if (isEnough || oldest === run) break;
      this.forget(oldest);
    }
    return known;
  }

  #note(places: RunPlaces, row: BatchRow): void {
    const { first_seq: firstSeq, run } = row;
    const isKept = this.#runs.get(run) === places;
    for (const [, id] of readRows(row, runIdOf(run))) {
      if (id === null) continue;
      const known = places.of.get(id);
      if (known === undefined) places.of.set(id, [firstSeq]);
      else if (known.at(-1) !== firstSeq) known.push(firstSeq);
      else continue;
      places.count += 1;
      if (isKept) this.#count += 1;
    }
    places.through = firstSeq;
  }
}
