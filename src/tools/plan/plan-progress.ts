import { keyOfTry, mostTries, PlaceQueue } from "../../events/planned-steps.ts";
import type { PlanStep } from "./plan.ts";
import { mergeSequence, Rivals } from "./plan-order.ts";

/** What the order of steps depends on. */
export type ScheduledStep = Pick<
  PlanStep,
  "id" | "dependsOn" | "owns" | "retries" | "onFailure" | "writes"
>;

export interface ProgressOptions {
  /** The most steps that are under way at once. */
  readonly atOnce: number;
  /** Whether a step that owns nothing in particular can change files all the same. */
  readonly canWrite: boolean;
  /** Whether the child of this key was made before a crash: it is never left behind. */
  readonly wasBegun: (key: string) => boolean;
  /** The order of the merges; absent: as it follows from the plan. */
  readonly sequence?: readonly number[] | undefined;
}

/** One try at a step; its key names its child. */
export interface StepTry {
  readonly place: number;
  readonly number: number;
  readonly key: string;
}

export type StepState = "waiting" | "running" | "completed" | "failed";

/** `refused`: there was no child, and another try would be refused as well. */
export type TryOutcome = "completed" | "failed" | "refused";

/**
 * The progress of a plan: which steps may start now. Pure: it starts nothing and knows no time. A step
 * may start when its dependencies are completed and no earlier open step could change the same paths,
 * so that steps are worked on in the order in which they are merged. The cost of a step depends on
 * its dependencies and rivals, not on the length of the plan.
 */
export class PlanProgress {
  readonly #steps: readonly ScheduledStep[];
  readonly #options: ProgressOptions;
  readonly #states: StepState[];
  readonly #tries: number[];
  /** How many dependencies are not completed yet. */
  readonly #missing: number[];
  readonly #dependents: number[][];
  /** The order of the merges, and which steps could change the same paths. */
  readonly #rivals: Rivals;
  /** Ranks of the steps that can be tried. */
  readonly #ready = new PlaceQueue();
  /** By place: the steps that wait until this one is over. */
  readonly #held = new Map<number, number[]>();
  readonly #running = new Set<number>();
  /** Whether the step at each place is over: it gets no further child. */
  readonly #over: boolean[];
  /** Children of before a crash that were not found again yet: they come before anything new. */
  readonly #begun: Set<string>;
  #deferred: number[] = [];
  /** The step after whose failure nothing new begins. */
  #stoppedBy: number | null = null;

  constructor(steps: readonly ScheduledStep[], options: ProgressOptions) {
    this.#steps = steps;
    this.#options = options;
    this.#states = steps.map(() => "waiting");
    this.#tries = steps.map(() => 1);
    this.#missing = steps.map(({ dependsOn }) => dependsOn.length);
    this.#dependents = steps.map(() => []);
    const sequence = options.sequence ?? mergeSequence(steps, options);
    this.#rivals = new Rivals(steps, sequence, options.canWrite);
    this.#over = steps.map(() => false);
    this.#begun = new Set(steps.flatMap(keysOf).filter(options.wasBegun));
    for (const [place, { dependsOn }] of steps.entries()) {
      for (const each of dependsOn) this.#dependents[each]?.push(place);
      if (dependsOn.length === 0) this.#makeReady(place);
    }
  }

  get runningCount(): number {
    return this.#running.size;
  }

  get stoppedBy(): number | null {
    return this.#stoppedBy;
  }

  stateOf(place: number): StepState {
    return this.#states[place] ?? "waiting";
  }

  /** The steps that may start now; from here on they count as running. */
  start(): readonly StepTry[] {
    const started: StepTry[] = [];
    for (;;) {
      while (this.#running.size < this.#options.atOnce) {
        const rank = this.#ready.take();
        if (rank === undefined) break;
        const begun = this.#tryStart(this.#rivals.placeAt(rank));
        if (begun) started.push(begun);
      }
      if (this.#deferred.length === 0) return started;
      // Children of before a crash that cannot be reached any more must not block the rest.
      if (this.#running.size === 0) this.#begun.clear();
      if (this.#begun.size > 0) return started;
      for (const place of this.#deferred.splice(0)) this.#makeReady(place);
    }
  }

  #tryStart(place: number): StepTry | undefined {
    const key = this.#keyOf(place);
    const isBegun = this.#begun.has(key);
    if (this.#stoppedBy !== null && !isBegun) {
      this.#leave(place);
      return undefined;
    }
    const rival = this.#conflictingOwner(place, isBegun);
    if (rival !== undefined) {
      const waiting = this.#held.get(rival);
      if (waiting) waiting.push(place);
      else this.#held.set(rival, [place]);
      return undefined;
    }
    this.#begun.delete(key);
    this.#running.add(place);
    this.#states[place] = "running";
    return { place, number: this.#triesOf(place), key };
  }

  /** A step that has to be over first, since both could change the same paths. */
  #conflictingOwner(place: number, isBegun: boolean): number | undefined {
    const isOver = (other: number): boolean => this.#over[other] === true;
    const before = isBegun ? undefined : this.#rivals.before(place, isOver);
    // A plan of an earlier version may have begun a later step first.
    return before ?? this.#rivals.among(place, this.#running);
  }

  /**
   * A try has ended. The next `start` returns what that makes possible. Returns the places of the
   * steps that get no further child because of it.
   */
  settle(place: number, outcome: TryOutcome): readonly number[] {
    this.#running.delete(place);
    const over: number[] = [];
    if (outcome === "completed") this.#complete(place, over);
    else this.#fail(place, outcome, over);
    return over;
  }

  #complete(place: number, over: number[]): void {
    this.#states[place] = "completed";
    this.#end(place, over);
    for (const dependent of this.#dependents[place] ?? []) {
      const missing = (this.#missing[dependent] ?? 0) - 1;
      this.#missing[dependent] = missing;
      if (missing === 0) this.#makeReady(dependent);
    }
  }

  #fail(place: number, outcome: "failed" | "refused", over: number[]): void {
    const { onFailure = "fail", retries = 0 } = this.#steps[place] ?? {};
    const tries = this.#triesOf(place);
    if (outcome === "failed" && tries <= retries) {
      this.#states[place] = "waiting";
      this.#tries[place] = tries + 1;
      this.#makeReady(place);
      // The plan was stopped, and another try would be new work.
      if (this.#stoppedBy !== null && !this.#isBegun(place)) this.#end(place, over);
      return;
    }
    this.#states[place] = "failed";
    this.#end(place, over);
    for (const dependent of this.#below(place)) this.#end(dependent, over);
    if (onFailure !== "fail" || this.#stoppedBy !== null) return;
    this.#stoppedBy = place;
    for (const other of this.#steps.keys()) {
      if (!this.#running.has(other) && !this.#isBegun(other)) this.#end(other, over);
    }
  }

  /** All that depends on a step, and can not begin without it. */
  #below(place: number): ReadonlySet<number> {
    const found = new Set(this.#dependents[place]);
    for (const each of found) for (const next of this.#dependents[each] ?? []) found.add(next);
    return found;
  }

  #end(place: number, over: number[]): void {
    if (this.#over[place] === true) return;
    this.#over[place] = true;
    over.push(place);
    for (const waiting of this.#held.get(place) ?? [])
      this.#ready.add(this.#rivals.rankOf(waiting));
    this.#held.delete(place);
  }

  #makeReady(place: number): void {
    const isNew = !this.#begun.has(this.#keyOf(place));
    if (isNew && this.#begun.size > 0) this.#deferred.push(place);
    else this.#ready.add(this.#rivals.rankOf(place));
  }

  /** The plan was stopped: a step that has failed before stays failed. */
  #leave(place: number): void {
    if (this.#triesOf(place) > 1) this.#states[place] = "failed";
  }

  #isBegun(place: number): boolean {
    const step = this.#steps[place];
    return (
      this.#begun.size > 0 && step !== undefined && keysOf(step).some((key) => this.#begun.has(key))
    );
  }

  #triesOf(place: number): number {
    return this.#tries[place] ?? 1;
  }

  #keyOf(place: number): string {
    return keyOfTry(this.#steps[place]?.id ?? "", this.#triesOf(place));
  }
}

/** What the children of a step could be called. */
function keysOf({ id }: ScheduledStep): string[] {
  return Array.from({ length: mostTries }, (_, index) => keyOfTry(id, index + 1));
}
