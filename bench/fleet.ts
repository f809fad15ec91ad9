/** What a fleet can do, beside what its parts can: `npm run bench:fleet`. Writes bench/FLEET.md. */
import { writeFileSync } from "node:fs";
import { cpus } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { measureBare } from "./fleet/measure-bare.ts";
import { measureFleet, measureLocal } from "./fleet/measure-fleet.ts";
import { measurePlan } from "./fleet/measure-plan.ts";
import { measureWriters } from "./fleet/measure-writers.ts";

const { values } = parseArgs({
  options: {
    reps: { type: "string", default: "3" },
    children: { type: "string", default: "1000" },
    steps: { type: "string", default: "10000" },
    results: { type: "string", default: join(import.meta.dirname, "FLEET.md") },
  },
});
const reps = Number(values.reps);
const children = Number(values.children);

async function best(measure: () => Promise<number>): Promise<number> {
  const times: number[] = [];
  for (let rep = 0; rep < reps; rep++) times.push(await measure());
  console.log(times.map((time) => `${Math.round(time)} ms`).join(", "));
  return Math.min(...times);
}

const perSecond = (ms: number, count: number): string => `${Math.round((count / ms) * 1000)}/s`;

console.log(`${children} children that do nothing, 4 workers`);
const bare = await best(() => measureBare(4, children, 50));
const noOp = await best(() => measureFleet(`fan ${children} wait 0`, { workers: 4, atOnce: 50 }));

console.log("500 at once, 3 turns of 50 ms each");
const task = "fan 500 steps 2 50";
// How long it takes, and not how long it takes to compile what does it: once before, on both sides.
const local = await best(() => measureLocal(task, 500, task));
const spread = await best(() => measureFleet(task, { workers: 1, atOnce: 500, warmUp: task }));

console.log("120 delegations of 500 ms, 10 at once in each worker");
const slow = "fan 120 wait 500";
const one = await best(() => measureFleet(slow, { workers: 1, atOnce: 10 }));
const two = await best(() => measureFleet(slow, { workers: 2, atOnce: 10 }));

const steps = Number(values.steps);
console.log(`a plan of ${steps} steps, 2 workers`);
const plan = await measurePlan(steps, { workers: 2, atOnce: 10 });
const [first = 0, , , last = 0] = plan.quarters;

console.log("24 writers of 3.5 s, 2 workers with 10 places each");
const writers = { count: 24, latencyMs: 3500 };
const writerRows: string[][] = [];
for (const how of ["shared", "bundle"] as const) {
  const single = await best(() => measureWriters({ ...writers, count: 1 }, how));
  const many = await best(() => measureWriters(writers, how));
  const name = `24 writers of 3.5 s, two workers with 10 places, ${how}`;
  const ratio = `${(many / single).toFixed(2)} × one writer`;
  writerRows.push([name, `${Math.round(many)} ms`, ratio, "≤ 3"]);
}

const rows = [
  [
    "no-op delegations, 4 workers",
    perSecond(noOp, children),
    `${(bare / noOp).toFixed(2)} of bare DBOS`,
    "≥ 0.5",
  ],
  ["bare DBOS child workflows, 4 workers", perSecond(bare, children), "", ""],
  [
    "500 at once, 3 turns of 50 ms, one worker",
    `${Math.round(spread)} ms`,
    `${(spread / local).toFixed(2)} × the engine of one machine`,
    "≤ 2",
  ],
  ["the same on the engine of one machine", `${Math.round(local)} ms`, "", ""],
  ["120 delegations of 500 ms, 10 at once, one worker", perSecond(one, 120), "", ""],
  [
    "the same on two workers",
    perSecond(two, 120),
    `${(one / two).toFixed(2)} × one worker`,
    "≥ 1.8",
  ],
  [
    `a plan of ${steps} steps, two workers`,
    perSecond(plan.ms, steps),
    `last quarter ${(last / first).toFixed(2)} × the rate of the first`,
    "≥ 0.8",
  ],
  ...writerRows,
];
const table = [
  "| load | figure | ratio | bar |",
  "|---|---|---|---|",
  ...rows.map((row) => `| ${row.join(" | ")} |`),
].join("\n");
console.log(table);
writeFileSync(
  values.results,
  `# A fleet, measured\n\nThe best of ${reps} each, in one run of \`npm run bench:fleet\`: workers as processes of their own, a real\nPostgres with fsync on, all on the same machine (${cpus().length} cores, Node ${process.version}). Times are noisy; ratios less so.\n\n${table}\n`,
);
process.exit(0);
