import type { SoakResults } from "../results.ts";
import { type SoakOptions, soak } from "./soak.ts";

/** A soak, and what is kept of it: the samples themselves are in their file. */
export async function measureSoak(options: Omit<SoakOptions, "everyMs">): Promise<SoakResults> {
  // A collection takes its time: whoever samples all the time measures that.
  const everyMs = Math.max(500, Math.min(10_000, options.ms / 40));
  const { samples, ...soaked } = await soak({ ...options, everyMs });
  const [first] = samples;
  const last = samples.at(-1);
  if (first === undefined || last === undefined) throw new Error("It was too short for a sample.");
  const cpuPercent = samples.reduce((sum, one) => sum + one.cpuPercent, 0) / samples.length;
  return { ...soaked, minutes: Math.round(options.ms / 60_000), first, last, cpuPercent };
}
