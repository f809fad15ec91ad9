import { PlaceQueue } from "../../events/planned-steps.ts";
import {
  type Ownership,
  overlaps,
  ownershipOf,
} from "../../workspaces/git/integration/match-ownership.ts";
import type { Plan, PlanStep } from "./plan.ts";
import type { ScheduledStep } from "./plan-progress.ts";

/**
 * The places of the steps in the order in which what they made is merged: the order of the plan,
 * except that a step comes after what it depends on, and after steps that would be made before it
 * if all took equally long, where both could change the same paths. It follows from the plan alone.
 */
export function mergeSequence(
  steps: readonly ScheduledStep[],
  { canWrite }: { readonly canWrite: boolean },
): readonly number[] {
  const schedule = inWaves(steps, { canWrite }).flat();
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

/** The steps that could change the same paths, and in which order they come. */
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

/**
 * The steps of a plan in the order in which they would run, if all took equally long and there were
 * slots for all: the places of those that would work side by side, wave after wave.
 */
export function planWaves({ steps }: Plan): readonly (readonly number[])[] {
  return inWaves(steps, { canWrite: true });
}

export function inWaves(
  steps: readonly ScheduledStep[],
  { canWrite }: { readonly canWrite: boolean },
): readonly (readonly number[])[] {
  const claims = claimsOf(steps, [...steps.keys()], canWrite);
  const missing = steps.map(({ dependsOn }) => dependsOn.length);
  const dependents = steps.map((): number[] => []);
  // Each claim lets one step per wave begin: the others wait for it.
  const waiting = new Map<Claim | null, PlaceQueue>();
  const makeReady = (place: number): void => {
    const claim = claims[place] ?? null;
    const queue = waiting.get(claim) ?? new PlaceQueue();
    waiting.set(claim, queue);
    queue.add(place);
  };
  for (const [place, { dependsOn }] of steps.entries()) {
    for (const each of dependsOn) dependents[each]?.push(place);
    if (dependsOn.length === 0) makeReady(place);
  }
  const waves: number[][] = [];
  while (waiting.size > 0) {
    const wave = nextWave(waiting, claims);
    waves.push(wave);
    for (const place of wave) {
      for (const dependent of dependents[place] ?? []) {
        const left = (missing[dependent] ?? 0) - 1;
        missing[dependent] = left;
        if (left === 0) makeReady(dependent);
      }
    }
  }
  return waves;
}

/** Takes the steps that can run side by side, lower places first. */
function nextWave(
  waiting: Map<Claim | null, PlaceQueue>,
  claims: readonly (Claim | null)[],
): number[] {
  const wave: number[] = [];
  const free = waiting.get(null);
  for (let place = free?.take(); place !== undefined; place = free?.take()) wave.push(place);
  waiting.delete(null);
  const lowest = [...waiting.values()].flatMap((queue) => queue.lowest ?? []);
  const taken: Claim[] = [];
  for (const place of lowest.sort((one, other) => one - other)) {
    const claim = claims[place];
    if (!claim || taken.some((other) => overlaps(claim.owns, other.owns))) continue;
    taken.push(claim);
    wave.push(place);
    const queue = waiting.get(claim);
    queue?.take();
    if (queue?.lowest === undefined) waiting.delete(claim);
  }
  return wave.sort((one, other) => one - other);
}

type Owner = Pick<PlanStep, "owns" | "writes">;

/** The steps that own the same patterns. */
interface Claim {
  readonly owns: Ownership;
  /** Ranks of its steps, the lowest first. */
  readonly ranks: number[];
  /** The number of first steps that are known to be over. */
  over: number;
}

/** The ownership of a step that can write and declares none. */
const anything: readonly string[] = ["**"];

/**
 * What each step owns, by the step's place in the plan; null: the step blocks no other step.
 * `sequence`: places in the order in which the steps run.
 */
function claimsOf(
  steps: readonly Owner[],
  sequence: readonly number[],
  canWrite: boolean,
): (Claim | null)[] {
  const known = new Map<string, Claim>();
  const claims: (Claim | null)[] = steps.map(() => null);
  for (const [rank, place] of sequence.entries()) {
    const { owns = [], writes = false } = steps[place] ?? {};
    const patterns = owns.length === 0 && writes && canWrite ? anything : owns;
    if (patterns.length === 0) continue;
    const key = patterns.join("\n");
    const claim = known.get(key) ?? { owns: ownershipOf(patterns), ranks: [], over: 0 };
    known.set(key, claim);
    claim.ranks.push(rank);
    claims[place] = claim;
  }
  return claims;
}

/** The last step of the claim before a rank that is not over, as a rank. */
function lastOpenBefore(
  claim: Claim,
  rank: number,
  isOver: (rank: number) => boolean,
): number | undefined {
  const { ranks } = claim;
  const rankAt = (index: number): number => ranks[index] ?? Number.POSITIVE_INFINITY;
  while (claim.over < ranks.length && isOver(rankAt(claim.over))) claim.over++;
  if (rankAt(claim.over) >= rank) return undefined;
  let [low, high] = [claim.over, ranks.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (rankAt(middle) < rank) low = middle + 1;
    else high = middle;
  }
  let index = low - 1;
  while (isOver(rankAt(index))) index--;
  return rankAt(index);
}

/** A step that waits though all that it depends on is completed, and the step that it waits for: places of steps. */
export interface OwnershipWait {
  readonly place: number;
  readonly behind: number;
}

const mostShown = 20;

/**
 * Steps that wait only because another step could change the same paths: a remark for people who
 * meant the steps to run in parallel. At most `mostShown`.
 */
export function ownershipWaits(
  { steps }: Plan,
  waves: readonly (readonly number[])[],
): readonly OwnershipWait[] {
  const claims = claimsOf(steps, waves.flat(), true);
  const waveOf = new Map<number, number>();
  for (const [wave, places] of waves.entries()) {
    for (const place of places) waveOf.set(place, wave);
  }
  const waits: OwnershipWait[] = [];
  for (const [wave, places] of waves.entries()) {
    for (const place of places) {
      const before = (steps[place]?.dependsOn ?? []).map((each) => waveOf.get(each) ?? 0);
      if (wave === 0 || before.includes(wave - 1)) continue;
      const own = claims[place]?.owns ?? [];
      const behind = waves[wave - 1]?.find((other) => {
        return overlaps(own, claims[other]?.owns ?? []);
      });
      if (behind !== undefined) waits.push({ place, behind });
      if (waits.length >= mostShown) return waits;
    }
  }
  return waits;
}
