/**
 * Kills, stops and disconnects workers of a fleet while they work, round after round, and sees
 * whether anything is lost or happens twice: `npm run torture:fleet -- --rounds 20 --seconds 60`.
 */
import { parseArgs } from "node:util";
import { FleetRound, type RoundReport } from "./torture/fleet-round.ts";

const { values } = parseArgs({
  options: {
    rounds: { type: "string", default: "20" },
    seconds: { type: "string", default: "60" },
    workers: { type: "string", default: "3" },
    seed: { type: "string", default: String(Date.now() % 1_000_000) },
  },
});

const rounds = Number(values.rounds);
const seconds = Number(values.seconds);
const workers = Number(values.workers);
const seed = Number(values.seed);
const takeoverBarMs = 10_000;

console.log(`fleet: ${rounds} rounds of ${seconds} s, ${workers} workers, seed ${seed}`);
const reports: RoundReport[] = [];
for (let round = 0; round < rounds; round++) {
  const report = await new FleetRound({ seed: seed + round, seconds, workers }).play();
  reports.push(report);
  const { delegations, faults, problems, runs, takeovers } = report;
  const worst = Math.round(Math.max(0, ...takeovers));
  console.log(
    `round ${round + 1}: ${runs} runs, ${delegations} delegations, ${faults.join(" ")}, ` +
      `${takeovers.length} takeovers, at most ${worst} ms${problems.length > 0 ? "" : ", clean"}`,
  );
  for (const problem of problems) console.log(`  ${problem}`);
}
const all = reports.flatMap(({ takeovers }) => takeovers).sort((one, other) => one - other);
const worst = all.at(-1) ?? 0;
const broken = reports.filter(({ problems }) => problems.length > 0).length;
const sum = (of: (report: RoundReport) => number): number =>
  reports.reduce((total, report) => total + of(report), 0);
console.log(
  `${broken === 0 ? "passed" : `FAILED in ${broken} rounds`}: ${sum(({ runs }) => runs)} runs, ` +
    `${sum(({ delegations }) => delegations)} delegations, ${sum(({ faults }) => faults.length)} faults, ` +
    `${all.length} takeovers: median ${Math.round(all[Math.floor(all.length / 2)] ?? 0)} ms, ` +
    `worst ${Math.round(worst)} ms (bar ${takeoverBarMs} ms)`,
);
process.exit(broken === 0 && worst < takeoverBarMs ? 0 : 1);
