import { type Death, sides } from "./job.ts";
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
 * For the point-th of all points around commits: a death there, another one in the recovery from
 * it, and then a life in peace.
 */
export function fatesAt(point: number): NextFate {
  const commit = Math.floor(point / sides.length) + 1;
  const lives: readonly Fate[] = [
    { kind: "dies", death: { side: sideOf(point), commit } },
    { kind: "dies", death: { side: sideOf(point + commit), commit: (commit % 3) + 1 } },
  ];
  return (count) => lives[count] ?? { kind: "lives" };
}

function sideOf(number: number): Death["side"] {
  return sides[number % sides.length] ?? "before";
}
