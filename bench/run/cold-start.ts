import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Counters, scriptOf, single } from "./own-script.ts";
import { median } from "./report.ts";
import { openSubject } from "./subject.ts";

/** Milliseconds from the start of a process to its end, medians. */
export interface ColdStart {
  readonly node: number;
  readonly importing: number;
  readonly version: number;
  readonly listEmpty: number;
  readonly listUsed: number;
}

const times = 10;
const runsInUsedHome = 200;

/** How long people wait for the built binary before it does anything, without npm in between. */
export async function measureColdStart(dist: string): Promise<ColdStart> {
  const folder = mkdtempSync(join(tmpdir(), "mandate-cold-"));
  try {
    const binary = join(dist, "mandate.js");
    const index = JSON.stringify(new URL("index.js", `file://${dist}/`).href);
    const used = await usedHome(join(folder, "used"));
    return {
      node: timeOf(["-e", "0"], folder),
      importing: timeOf(["-e", `import(${index})`], folder),
      version: timeOf([binary, "--version"], folder),
      listEmpty: timeOf([binary, "ls"], join(folder, "empty")),
      listUsed: timeOf([binary, "ls"], used),
    };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function timeOf(words: readonly string[], home: string): number {
  const environment = { ...process.env, MANDATE_HOME: home };
  const once = (): number => {
    const began = performance.now();
    const { status, stderr } = spawnSync(process.execPath, words, {
      env: environment,
      encoding: "utf8",
    });
    if (status !== 0) throw new Error(`${words.join(" ")} ended with ${status}: ${stderr}`);
    return performance.now() - began;
  };
  // The first one reads files that are not in memory yet, and creates a home where there is none.
  once();
  return median(Array.from({ length: times }, once));
}

async function usedHome(folder: string): Promise<string> {
  mkdirSync(folder);
  const host = await openSubject("sqlite-normal", folder);
  const counters: Counters = { live: 0, peak: 0, stamps: null, barrier: null };
  const run = await host.build(scriptOf({ ...single, width: 3 }, counters));
  for (let count = 0; count < runsInUsedHome; count++) await run("start the work");
  await host.close();
  const [home = ""] = readdirSync(folder);
  return join(folder, home);
}
