import { keyOfTry, mostTries } from "../../events/planned-steps.ts";
import { ownershipOverlaps } from "../../workspaces/git/integration/match-ownership.ts";
import { type Claim, claimsOf } from "./claim.ts";
import { PlaceQueue } from "./place-queue.ts";
import type { PlanStep } from "./plan.ts";

/** What the order of steps depends on. */
export type ScheduledStep = Pick<
  PlanStep,
  "id" | "dependsOn" | "owns" | "retries" | "onFailure" | "writes"
>;

export interface ProgressOptions {
  /** So many steps are under way at most. */
  readonly atOnce: number;
  /** Whether a step that owns nothing in particular can change files all the same. */
  readonly canWrite: boolean;
  /** Whether the child of this key was made before a crash: it is never left behind. */
  readonly wasBegun: (key: string) => boolean;
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
 * How far a plan has come: which steps may start now, given how others ended. Pure: it starts
 * nothing and knows no time. A step may start when all that it depends on is completed, and nothing
 * runs that could change the same paths; lower places first. Each step costs what its own
 * dependencies and rivals cost, however long the plan is.
 */
export class PlanProgress {
  readonly #steps: readonly ScheduledStep[];
  readonly #options: ProgressOptions;
  readonly #states: StepState[];
  readonly #tries: number[];
  /** How many dependencies are not completed yet. */
  readonly #missing: number[];
  readonly #dependents: number[][];
  /** By place; null: the step keeps nobody from anything. */
  readonly #claims: readonly (Claim | null)[];
  /** Steps without a claim, and of every claim that is free the first step. */
  readonly #ready = new PlaceQueue();
  /** Claims of running steps, by place; they overlap with none of each other. */
  readonly #taken = new Map<number, Claim>();
  readonly #running = new Set<number>();
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
    this.#claims = claimsOf(steps, options.canWrite);
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
        const place = this.#ready.take();
        if (place === undefined) break;
        const begun = this.#tryStart(place);
        if (begun) started.push(begun);
      }
      if (this.#deferred.length === 0) return started;
      // What was begun and cannot be reached any more must not hold up the rest.
      if (this.#running.size === 0) this.#begun.clear();
      if (this.#begun.size > 0) return started;
      for (const place of this.#deferred.splice(0)) this.#makeReady(place);
    }
  }

  #tryStart(place: number): StepTry | undefined {
    const claim = this.#claims[place] ?? null;
    if (claim !== null) {
      // It was started or held meanwhile; when its claim is free again, the first one is told.
      if (claim.isBusy || claim.waiting.lowest !== place) return undefined;
      for (const [rival, other] of this.#taken) {
        if (!ownershipOverlaps(claim.patterns, other.patterns)) continue;
        claim.isBusy = true;
        this.#claims[rival]?.holds.push(claim);
        return undefined;
      }
      claim.waiting.take();
    }
    const key = this.#keyOf(place);
    if (this.#stoppedBy !== null && !this.#begun.has(key)) {
      this.#leave(place);
      if (claim !== null) this.#free(claim);
      return undefined;
    }
    this.#begun.delete(key);
    this.#running.add(place);
    this.#states[place] = "running";
    if (claim !== null) {
      claim.isBusy = true;
      this.#taken.set(place, claim);
    }
    return { place, number: this.#triesOf(place), key };
  }

  /** A try has ended. What that makes possible is told by the next `start`. */
  settle(place: number, outcome: TryOutcome): void {
    this.#running.delete(place);
    const claim = this.#taken.get(place);
    if (claim !== undefined) {
      this.#taken.delete(place);
      for (const held of [claim, ...claim.holds.splice(0)]) this.#free(held);
    }
    if (outcome === "completed") this.#complete(place);
    else this.#fail(place, outcome);
  }

  #complete(place: number): void {
    this.#states[place] = "completed";
    for (const dependent of this.#dependents[place] ?? []) {
      const missing = (this.#missing[dependent] ?? 0) - 1;
      this.#missing[dependent] = missing;
      if (missing === 0) this.#makeReady(dependent);
    }
  }

  #fail(place: number, outcome: "failed" | "refused"): void {
    const { onFailure = "fail", retries = 0 } = this.#steps[place] ?? {};
    const tries = this.#triesOf(place);
    if (outcome === "failed" && tries <= retries) {
      this.#states[place] = "waiting";
      this.#tries[place] = tries + 1;
      this.#makeReady(place);
      return;
    }
    this.#states[place] = "failed";
    if (onFailure === "fail") this.#stoppedBy ??= place;
  }

  #makeReady(place: number): void {
    const isNew = !this.#begun.has(this.#keyOf(place));
    if (isNew && this.#begun.size > 0) {
      this.#deferred.push(place);
      return;
    }
    const claim = this.#claims[place] ?? null;
    if (claim === null) {
      this.#ready.add(place);
      return;
    }
    claim.waiting.add(place);
    if (!claim.isBusy) this.#free(claim);
  }

  #free(claim: Claim): void {
    claim.isBusy = false;
    const { lowest } = claim.waiting;
    if (lowest !== undefined) this.#ready.add(lowest);
  }

  /** Nothing new begins any more: one that has failed before stays so. */
  #leave(place: number): void {
    if (this.#triesOf(place) > 1) this.#states[place] = "failed";
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
