import type { Fate } from "./life.ts";
import { randomFrom, seedOf } from "./random.ts";
import type { Tally } from "./tally.ts";
import type { NextFate } from "./torture-run.ts";

/** How far into its work a process gets at most: some four or five kills a run. */
const longestWorkMs = 450;
/** About what a process needs to start: kills within it hit the opening and the taking up. */
const startMs = 400;

/** Kills at random moments, as long as there are kills left. */
export function randomFates(seed: number, run: number, tally: Tally): NextFate {
  const random = randomFrom(seedOf(seed, run));
  return () => {
    const isEarly = random() < 0.15;
    const moment = random();
    if (tally.killsLeft <= 0) return { kind: "lives" };
    tally.killsLeft -= 1;
    return isEarly
      ? { kind: "killed", since: "start", ms: moment * startMs }
      : { kind: "killed", since: "first-commit", ms: moment * longestWorkMs };
  };
}

/**
 * For the point-th of all commit boundaries: a death there, another one in the recovery from it,
 * and then a life in peace.
 */
export function fatesAt(point: number): NextFate {
  const commit = (point >> 1) + 1;
  const side = point % 2 === 0 ? "before" : "after";
  const lives: readonly Fate[] = [
    { kind: "dies", death: { side, commit } },
    {
      kind: "dies",
      death: { side: side === "before" ? "after" : "before", commit: (commit % 3) + 1 },
    },
  ];
  return (count) => lives[count] ?? { kind: "lives" };
}
