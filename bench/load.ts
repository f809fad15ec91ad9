/** Measures how much the product bears, and whether it still holds afterwards: npm run load. */
import { spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { loadavg } from "node:os";
import { dirname, join } from "node:path";
import { barsOf } from "./load/bars.ts";
import { measureChildren } from "./load/children/measure-children.ts";
import { loadDocument, tablesOf } from "./load/document.ts";
import { type Options, parseOptions, usage } from "./load/options.ts";
import { measureCancel } from "./load/queue/measure-cancel.ts";
import { measureManyRuns, measureOneRun } from "./load/queue/measure-queue.ts";
import { measureRecovery } from "./load/queue/measure-recovery.ts";
import { measured, type Results, readResults, writeResults } from "./load/results.ts";
import { measureSoak } from "./load/soak/measure-soak.ts";
import { measureStore } from "./load/store/measure-store.ts";
import { plainTable } from "./run/tables.ts";

const here = import.meta.dirname;
const document = join(here, "LOAD.md");
const known = join(here, "load/results.json");

async function main(words: readonly string[]): Promise<number> {
  let options: Options;
  try {
    options = parseOptions(words, document);
  } catch (error) {
    console.error(`${(error as Error).message}\n\n${usage}`);
    return 2;
  }
  const fresh = await measure(options);
  for (const table of tablesOf(fresh)) console.log(plainTable(table));
  if (options.results !== undefined) {
    // A part that was not measured now is as it was when it was.
    const all = { ...readResults(known), ...fresh };
    writeResults(known, all);
    writeFileSync(options.results, loadDocument(all));
    console.log(`\nwritten: ${options.results}`);
  }
  return barsOf(fresh).every(({ isMet }) => isMet) ? 0 : 1;
}

async function measure(options: Options): Promise<Results> {
  const print = (line: string): void => console.log(line);
  const { children, events, home, parts, queued, soakMs } = options;
  const load = () => loadavg().slice(0, 1);
  const before = load();
  if (soakMs !== undefined) {
    const csv = options.csv ?? join(here, "load/soak.csv");
    return { soak: measured(await measureSoak({ ...options, ms: soakMs, csv, print }), before) };
  }
  const results: Results = {};
  if (parts.includes("children")) {
    print(`${children} children at work at once …`);
    const normal = await measureChildren("normal", children, 10_000);
    results.children = measured([normal, await measureChildren("full", children, 10_000)], before);
  }
  if (parts.includes("queue")) {
    print(`${queued} queued …`);
    const at = load();
    const queues = [await measureOneRun(queued), await measureManyRuns(queued)];
    const cancel = await measureCancel(queued);
    const tenth = Math.ceil(queued / 10);
    const recoveries = [
      await measureRecovery("one run", 1, queued),
      await measureRecovery(`${tenth} runs`, tenth, 9),
    ];
    results.queue = measured({ queues, cancel, recoveries }, at);
  }
  if (parts.includes("store")) {
    print(`${events} stored events …`);
    const at = load();
    const { paintPage } = await import("./load/store/paint-page.ts");
    const binary = findBinary();
    const store = await measureStore({ events, home, binary, print, times: 5, paint: paintPage });
    results.store = measured(store, at);
  }
  return results;
}

/** What people have: the build. With other sources in its place, those. */
function findBinary(): string {
  const root = dirname(here);
  if (process.env["MANDATE_BENCH_SOURCE"] !== undefined) return join(root, "src/mandate.ts");
  const words = [join(root, "scripts/build.mjs")];
  const { status } = spawnSync(process.execPath, words, { stdio: "inherit" });
  if (status !== 0) throw new Error("It could not be built.");
  return join(root, "dist/mandate.js");
}

process.exitCode = await main(process.argv.slice(2));
