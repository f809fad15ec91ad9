import { PlaceQueue } from "../../events/planned-steps.ts";
import { overlaps } from "../../workspaces/git/integration/match-ownership.ts";
import { type Claim, claimsOf } from "./claim.ts";
import type { Plan } from "./plan.ts";
import type { ScheduledStep } from "./plan-progress.ts";

/**
 * The steps of a plan in the order in which they would run, if all took equally long and there were
 * slots for all: the places of those that would work side by side, wave after wave.
 */
export function planWaves({ steps }: Plan): readonly (readonly number[])[] {
  return inWaves(steps, true);
}

export function inWaves(
  steps: readonly ScheduledStep[],
  canWrite: boolean,
): readonly (readonly number[])[] {
  const claims = claimsOf(steps, [...steps.keys()], canWrite);
  const missing = steps.map(({ dependsOn }) => dependsOn.length);
  const dependents = steps.map((): number[] => []);
  // Of each claim one step a wave is looked at: the others would wait for that one.
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
