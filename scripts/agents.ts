// Runs the agent programs that Mandate knows, as they are published, under contracts, with a scripted or
// hostile model on loopback: npm run test:agents. No part of npm test: it installs a gigabyte.
import { join } from "node:path";
import { parseArgs } from "node:util";
import { AgentCell } from "./agents/agent-cell.ts";
import { type RealAgent, realAgents } from "./agents/real-agents.ts";
import { type Figures, type Scenario, scenarios } from "./agents/scenarios.ts";
import { chosen, installedVersion, installPackages, nameOf } from "./clients/install-packages.ts";

const root = join(import.meta.dirname, "..");
const usage = `usage: npm run test:agents -- [options]

  --agent NAME      only agents whose name begins so (several times)
  --scenario NAME   only this scenario (several times)
  --rounds N        so many rounds of each scenario (each has its own number)
  --parallel N      so many rounds at a time (2)
  --cache DIR       where the packages are kept (node_modules/.cache/mandate-agents)
  --keep            leave the folders of failed rounds
  --latest          the latest versions in place of the pinned ones
  --list            what there is`;

const { values: options } = parseArgs({
  options: {
    agent: { type: "string", multiple: true, default: [] },
    scenario: { type: "string", multiple: true, default: [] },
    rounds: { type: "string" },
    parallel: { type: "string", default: "2" },
    cache: { type: "string", default: join(root, "node_modules", ".cache", "mandate-agents") },
    keep: { type: "boolean", default: false },
    latest: { type: "boolean", default: false },
    list: { type: "boolean", default: false },
    help: { type: "boolean", default: false },
  },
});

interface Tally {
  passed: number;
  failed: number;
  readonly most: Record<string, number>;
}

async function runRound(
  agent: RealAgent,
  scenario: Scenario,
  about: { readonly round: number; readonly modules: string },
): Promise<Figures | string> {
  const cell = new AgentCell(agent, about.modules);
  let problem: string | null = null;
  try {
    await cell.open();
    const figures = await scenario.run(cell, about.round);
    await cell.requireSound();
    return figures;
  } catch (error) {
    problem = (error as Error).message;
    return options.keep ? `${problem} (${cell.folder})` : problem;
  } finally {
    cell.close(options.keep && problem !== null);
  }
}

async function main(): Promise<number> {
  if (options.help) console.log(usage);
  if (options.list) {
    for (const { name, package: wanted } of realAgents) console.log(`${name.padEnd(12)} ${wanted}`);
    for (const { about, name, rounds } of scenarios) {
      console.log(`${name.padEnd(12)} ${about} (${rounds})`);
    }
  }
  if (options.help || options.list) return 0;
  const agents = chosen(realAgents, options.agent);
  const columns = chosen(scenarios, options.scenario);
  const modules = new Map(
    agents.map(({ name, package: wanted }) => {
      return [name, installPackages(join(options.cache, name), [wanted], options.latest)];
    }),
  );
  const tallies = new Map<string, Tally>();
  const rounds = columns.flatMap((scenario) =>
    Array.from({ length: Number(options.rounds ?? scenario.rounds) }, (_, round) => round).flatMap(
      (round) => agents.map((agent) => ({ agent, round, scenario })),
    ),
  );
  const work = async (): Promise<void> => {
    for (let next = rounds.shift(); next !== undefined; next = rounds.shift()) {
      const { agent, round, scenario } = next;
      const name = `${scenario.name} ${agent.name}`;
      const tally = tallies.get(name) ?? { passed: 0, failed: 0, most: {} };
      tallies.set(name, tally);
      const started = performance.now();
      const outcome = await runRound(agent, scenario, {
        ...{ round, modules: modules.get(agent.name) ?? "" },
      });
      const seconds = ((performance.now() - started) / 1000).toFixed(1);
      const isOk = typeof outcome !== "string";
      if (isOk) {
        tally.passed++;
        for (const [figure, value] of Object.entries(outcome)) {
          tally.most[figure] = Math.max(tally.most[figure] ?? 0, value);
        }
      } else tally.failed++;
      const end = isOk ? `ok ${shown(outcome)}` : `FAILED: ${outcome}`;
      console.error(`${name.padEnd(22)} ${round + 1} ${seconds.padStart(6)} s  ${end}`);
    }
  };
  await Promise.all(Array.from({ length: Number(options.parallel) }, work));
  for (const { name, package: wanted } of agents) {
    console.log(`${name} ${installedVersion(modules.get(name) ?? "", nameOf(wanted))}`);
  }
  let failed = 0;
  for (const [name, tally] of tallies) {
    failed += tally.failed;
    const all = tally.passed + tally.failed;
    console.log(
      `${name.padEnd(22)} ${tally.passed} of ${all} passed; at most ${shown(tally.most)}`,
    );
  }
  return failed === 0 ? 0 : 1;
}

function shown(figures: Figures): string {
  return Object.entries(figures)
    .map(([name, value]) => `${name} ${Number.isInteger(value) ? value : value.toFixed(3)}`)
    .join(", ");
}

try {
  process.exitCode = await main();
} catch (error) {
  console.error(`${(error as Error).message}\n\n${usage}`);
  process.exitCode = 2;
}
