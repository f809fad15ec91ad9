// Runs the programs that people use, as they are published, against `mandate mcp`, with a scripted model
// on loopback in place of every vendor's: npm run test:clients. No part of npm test: it installs a gigabyte.
import { cpSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { chosen, installedVersion, installPackages, nameOf } from "./clients/install-packages.ts";
import { type RealClient, realClients } from "./clients/real-clients.ts";
import { runCell } from "./clients/run-cell.ts";
import { type Scenario, scenarios } from "./clients/scenarios.ts";

const root = join(import.meta.dirname, "..");
const usage = `usage: npm run test:clients -- [options]

  --client NAME     only clients whose name begins so (several times)
  --scenario NAME   only this scenario (several times)
  --parallel N      so many cells at a time (2)
  --cache DIR       where the packages are kept (node_modules/.cache/mandate-clients)
  --keep            leave the folders of failed cells
  --latest          the latest versions in place of the pinned ones
  --list            what there is`;

const { values: options } = parseArgs({
  options: {
    client: { type: "string", multiple: true, default: [] },
    scenario: { type: "string", multiple: true, default: [] },
    parallel: { type: "string", default: "2" },
    cache: {
      type: "string",
      default: join(root, "node_modules", ".cache", "mandate-clients"),
    },
    keep: { type: "boolean", default: false },
    latest: { type: "boolean", default: false },
    list: { type: "boolean", default: false },
    help: { type: "boolean", default: false },
  },
});

/** Installs what a client needs, once; gives its node_modules. */
function install(packages: readonly string[]): string {
  const [first = ""] = packages;
  const folder = join(options.cache, nameOf(first).replaceAll(/[@/]/g, "_"));
  const modules = installPackages(folder, packages, options.latest);
  cpSync(join(import.meta.dirname, "clients", "library-clients.mjs"), join(folder, "agent.mjs"));
  return modules;
}

function versionIn(modules: string, { packages: [first = ""] }: RealClient): string {
  return installedVersion(modules, nameOf(first)) ?? "";
}

async function main(): Promise<number> {
  if (options.help) console.log(usage);
  if (options.list) {
    for (const { name, packages } of realClients) console.log(`${name.padEnd(18)} ${packages[0]}`);
    for (const { name, about } of scenarios) console.log(`${name.padEnd(18)} ${about}`);
  }
  if (options.help || options.list) return 0;
  const clients = chosen(realClients, options.client);
  const columns = chosen(scenarios, options.scenario);
  const modules = new Map(clients.map((each) => [each, install(each.packages)]));
  const outcomes = new Map<string, string | null>();
  const at = (client: RealClient, scenario: Scenario): string => `${client.name} ${scenario.name}`;
  // The longest first, so that they do not come last and alone.
  const cells = columns
    .toSorted((a, b) => (b.holdMs ?? 0) - (a.holdMs ?? 0))
    .flatMap((scenario) => clients.map((client) => ({ client, scenario })));
  const work = async (): Promise<void> => {
    for (let cell = cells.shift(); cell !== undefined; cell = cells.shift()) {
      const { client, scenario } = cell;
      const started = performance.now();
      const problem = await runCell(client, scenario, {
        ...{ modules: modules.get(client) ?? "", isKept: options.keep },
      });
      outcomes.set(at(client, scenario), problem);
      const seconds = ((performance.now() - started) / 1000).toFixed(1);
      const end = problem === null ? "ok" : `FAILED: ${problem}`;
      console.error(`${at(client, scenario).padEnd(30)} ${seconds.padStart(6)} s  ${end}`);
    }
  };
  await Promise.all(Array.from({ length: Number(options.parallel) }, work));
  console.log(["client", "version", ...columns.map(({ name }) => name)].join(" | "));
  for (const client of clients) {
    const row = columns.map((scenario) =>
      outcomes.get(at(client, scenario)) === null ? "pass" : "FAIL",
    );
    console.log([client.name, versionIn(modules.get(client) ?? "", client), ...row].join(" | "));
  }
  const failed = [...outcomes.values()].filter((problem) => problem !== null).length;
  console.log(`${outcomes.size - failed} of ${outcomes.size} passed`);
  console.log(
    "Not run: clients in Python (from PyPI), Cursor and VS Code (not published as packages).",
  );
  return failed === 0 ? 0 : 1;
}

try {
  process.exitCode = await main();
} catch (error) {
  console.error(`${(error as Error).message}\n\n${usage}`);
  process.exitCode = 2;
}
