import type { ClockJump } from "./job.ts";
import type { Kind } from "./kind.ts";
import type { Random } from "./random.ts";
import { tortureRun } from "./torture-run.ts";

const hourMs = 3_600_000;

/**
 * Each process finds the wall clock an hour wrong, or right, and sees it jump. What comes of the run
 * must be what came of the undisturbed one: nothing runs out early, and nothing waits for an hour.
 */
export const clockJumps: Kind = {
  name: "clock",
  does: "has clocks that are an hour wrong and jump, and is killed twice meanwhile",
  stores: ["sqlite", "postgres"],
  rounds: { usual: 8, long: 100 },
  job: { children: 8, rounds: 2, speed: 1 },
  play: ({ name, random, ground }) =>
    tortureRun(
      name,
      (lives) => {
        const conditions = { clock: jumpFrom(random) };
        if (lives >= 2) return { kind: "lives", conditions };
        return { kind: "killed", since: "first-commit", ms: random() * 500, conditions };
      },
      ground,
    ),
};

function jumpFrom(random: Random): ClockJump {
  const way = (): number => Math.round(random() * 2 - 1) * hourMs;
  const offsetMs = way();
  // Back to what is right, or away from it.
  const jumpMs = offsetMs === 0 ? (random() < 0.5 ? hourMs : -hourMs) : -offsetMs;
  return { offsetMs, jumpMs, afterMs: random() * 1500 };
}
