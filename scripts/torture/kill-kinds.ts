import { postgresSides, type Side, sqliteSides } from "./job.ts";
import type { Kind } from "./kind.ts";
import type { Fate } from "./life.ts";
import type { Random } from "./random.ts";
import { type NextFate, tortureRun } from "./torture-run.ts";

/** How far into its work a process gets at most: some four or five kills a run. */
const longestWorkMs = 450;
/** About what a process needs to start: kills within it hit the opening and the taking up. */
const startMs = 400;
const killsOfRun = 5;

export const randomKills: Kind = {
  name: "kill",
  does: `is killed at up to ${killsOfRun} random moments`,
  stores: ["sqlite", "postgres"],
  rounds: { usual: 8, long: 200 },
  job: { children: 8, rounds: 5, speed: 1 },
  play: ({ name, random, ground }) => tortureRun(name, randomFates(random, killsOfRun), ground),
};

function randomFates(random: Random, kills: number): NextFate {
  return (lives) => {
    if (lives >= kills) return { kind: "lives" };
    const isEarly = random() < 0.15;
    return isEarly
      ? { kind: "killed", since: "start", ms: random() * startMs }
      : { kind: "killed", since: "first-commit", ms: random() * longestWorkMs };
  };
}

export const commitKills: Kind = {
  name: "commit",
  does: "dies inside, before, while sending or after one of its commits, and again in the recovery",
  stores: ["sqlite", "postgres"],
  rounds: { usual: 24, long: "all" },
  // A point for each commit means many runs, so these are short.
  job: { children: 3, rounds: 1, speed: 2, hasRepository: true },
  points({ commits, store }) {
    const sides = store === "sqlite" ? sqliteSides : postgresSides;
    // How much shares a commit varies a little from run to run.
    const all = Array.from({ length: Math.ceil(commits * 1.1) }, (_, index) => index + 1);
    return all.flatMap((commit) => sides.map((side) => `${side} ${commit}`));
  },
  play: ({ name, point, ground }) => tortureRun(name, fatesAt(point, ground.place.name), ground),
};

/** A death at the point, another one in the recovery from it, and then a life in peace. */
function fatesAt(point: string, store: "sqlite" | "postgres"): NextFate {
  const [side, number] = point.split(" ");
  const commit = Number(number);
  const sides: readonly Side[] = store === "sqlite" ? sqliteSides : postgresSides;
  const second = sides[(sides.indexOf(side as Side) + commit) % sides.length] ?? "before";
  const lives: readonly Fate[] = [
    { kind: "lives", conditions: { death: { side: side as Side, commit } } },
    { kind: "lives", conditions: { death: { side: second, commit: (commit % 3) + 1 } } },
  ];
  return (count) => lives[count] ?? { kind: "lives" };
}
