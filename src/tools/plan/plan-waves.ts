import type { Plan } from "./plan.ts";
import { PlanProgress } from "./plan-progress.ts";

/**
 * The steps of a plan in the order in which they would run, if all took equally long and there were
 * slots for all: the places of those that would work side by side, wave after wave.
 */
export function planWaves({ steps }: Plan): readonly (readonly number[])[] {
  const progress = new PlanProgress(steps, {
    atOnce: Number.POSITIVE_INFINITY,
    canWrite: true,
    wasBegun: () => false,
  });
  const waves: number[][] = [];
  for (;;) {
    const wave = progress.start().map(({ place }) => place);
    if (wave.length === 0) return waves;
    waves.push(wave);
    for (const place of wave) progress.settle(place, "completed");
  }
}
