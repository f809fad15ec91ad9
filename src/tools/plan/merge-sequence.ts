import { PlaceQueue } from "../../events/planned-steps.ts";
import { overlaps } from "../../workspaces/git/integration/match-ownership.ts";
import { type Claim, claimsOf, lastOpenBefore } from "./claim.ts";
import type { ScheduledStep } from "./plan-progress.ts";
import { inWaves } from "./plan-waves.ts";

/**
 * The places of the steps in the order in which what they made is merged: the order of the plan,
 * except that a step comes after what it depends on, and after steps that would be made before it
 * if all took equally long, where both could change the same paths. It follows from the plan alone.
 */
export function mergeSequence(
  steps: readonly ScheduledStep[],
  canWrite: boolean,
): readonly number[] {
  const schedule = inWaves(steps, canWrite).flat();
  const rivals = new Rivals(steps, schedule, canWrite);
  const missing = steps.map(({ dependsOn }) => dependsOn.length);
  const dependents = steps.map((): number[] => []);
  const held = new Map<number, number[]>();
  const isDone = steps.map(() => false);
  const ready = new PlaceQueue();
  for (const [place, { dependsOn }] of steps.entries()) {
    for (const each of dependsOn) dependents[each]?.push(place);
    if (dependsOn.length === 0) ready.add(place);
  }
  const sequence: number[] = [];
  for (let place = ready.take(); place !== undefined; place = ready.take()) {
    const rival = rivals.before(place, (other) => isDone[other] === true);
    if (rival !== undefined) {
      held.set(rival, [...(held.get(rival) ?? []), place]);
      continue;
    }
    sequence.push(place);
    isDone[place] = true;
    for (const waiting of held.get(place) ?? []) ready.add(waiting);
    for (const dependent of dependents[place] ?? []) {
      const left = (missing[dependent] ?? 0) - 1;
      missing[dependent] = left;
      if (left === 0) ready.add(dependent);
    }
  }
  return sequence;
}

/** Which steps could change the same paths, and in which order they come. */
export class Rivals {
  readonly #sequence: readonly number[];
  readonly #ranks = new Map<number, number>();
  /** By place; null: the step keeps no other from anything. */
  readonly #claims: readonly (Claim | null)[];
  readonly #distinct: readonly Claim[];

  /** `sequence`: the places of all steps. */
  constructor(steps: readonly ScheduledStep[], sequence: readonly number[], canWrite: boolean) {
    this.#sequence = sequence;
    for (const [rank, place] of sequence.entries()) this.#ranks.set(place, rank);
    this.#claims = claimsOf(steps, sequence, canWrite);
    this.#distinct = [...new Set(this.#claims.filter((claim) => claim !== null))];
  }

  rankOf(place: number): number {
    return this.#ranks.get(place) ?? 0;
  }

  placeAt(rank: number): number {
    return this.#sequence[rank] ?? 0;
  }

  /** A rival that comes before the step and is not over. */
  before(place: number, isOver: (place: number) => boolean): number | undefined {
    const claim = this.#claims[place] ?? null;
    if (claim === null) return undefined;
    const rank = this.rankOf(place);
    const isRankOver = (of: number): boolean => isOver(this.placeAt(of));
    const own = lastOpenBefore(claim, rank, isRankOver);
    if (own !== undefined) return this.placeAt(own);
    for (const other of this.#distinct) {
      const open = lastOpenBefore(other, rank, isRankOver);
      if (open !== undefined && overlaps(claim.owns, other.owns)) return this.placeAt(open);
    }
    return undefined;
  }

  /** A rival among these steps. */
  among(place: number, others: Iterable<number>): number | undefined {
    const claim = this.#claims[place] ?? null;
    if (claim === null) return undefined;
    for (const other of others) {
      const taken = this.#claims[other] ?? null;
      if (taken !== null && overlaps(claim.owns, taken.owns)) return other;
    }
    return undefined;
  }
}
