/**
 * Kills, stops and disconnects workers of a fleet while they work, round after round, and sees
 * whether anything is lost or happens twice: `npm run torture:fleet -- --rounds 20 --seconds 60`.
 * Rounds alternate between loads: `--load budget,questions`.
 */
import { parseArgs } from "node:util";
import { type FleetLoad, FleetRound, type RoundReport } from "./torture/fleet-round.ts";

const { values } = parseArgs({
  options: {
    rounds: { type: "string", default: "20" },
    seconds: { type: "string", default: "60" },
    workers: { type: "string", default: "3" },
    load: { type: "string", default: "steps,budget,questions" },
    seed: { type: "string", default: String(Date.now() % 1_000_000) },
  },
});

const rounds = Number(values.rounds);
const seconds = Number(values.seconds);
const workers = Number(values.workers);
const seed = Number(values.seed);
const all: readonly FleetLoad[] = ["steps", "budget", "questions"];
const loads = all.filter((load) => values.load.split(",").includes(load));
const takeoverBarMs = 10_000;

console.log(`fleet: ${rounds} rounds of ${seconds} s, ${workers} workers, seed ${seed}`);
const reports: RoundReport[] = [];
for (let round = 0; round < rounds; round++) {
  const load = loads[round % loads.length] ?? "steps";
  const report = await new FleetRound({ seed: seed + round, seconds, workers, load }).play();
  reports.push(report);
  const { delegations, faults, problems, runs } = report;
  const slowest = Math.round(Math.max(0, ...report.takeovers));
  console.log(
    `round ${round + 1} (${load}): ${runs} runs, ${delegations} delegations, ${faults.join(" ")}, ` +
      `${report.takeovers.length} takeovers, at most ${slowest} ms${problems.length > 0 ? "" : ", clean"}`,
  );
  for (const problem of problems) console.log(`  ${problem}`);
}
const takeovers = reports.flatMap(({ takeovers }) => takeovers).sort((one, other) => one - other);
const worst = takeovers.at(-1) ?? 0;
const broken = reports.filter(({ problems }) => problems.length > 0).length;
const sum = (of: (report: RoundReport) => number): number =>
  reports.reduce((total, report) => total + of(report), 0);
console.log(
  `${broken === 0 ? "passed" : `FAILED in ${broken} rounds`}: ${sum(({ runs }) => runs)} runs, ` +
    `${sum(({ delegations }) => delegations)} delegations, ${sum(({ faults }) => faults.length)} faults, ` +
    `${takeovers.length} takeovers: median ${Math.round(takeovers[Math.floor(takeovers.length / 2)] ?? 0)} ms, ` +
    `worst ${Math.round(worst)} ms (bar ${takeoverBarMs} ms)`,
);
process.exit(broken === 0 && worst < takeoverBarMs ? 0 : 1);
