import { overlaps } from "../../workspaces/git/integration/match-ownership.ts";
import { claimsOf } from "./claim.ts";
import type { Plan } from "./plan.ts";

/** A step that waits though all that it depends on is completed, and the step that it waits for: places of steps. */
export interface OwnershipWait {
  readonly place: number;
  readonly behind: number;
}

const mostShown = 20;

/**
 * Which steps of a schedule are one after the other only because they could change the same paths.
 * That is no mistake, but people who meant them to run side by side should know. Of very many the
 * first.
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
