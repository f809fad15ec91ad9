import { spawn } from "node:child_process";
import { globSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

export interface Check {
  readonly scenario: string;
  readonly id: string;
  readonly status: "SUCCESS" | "FAILURE" | "WARNING" | "SKIPPED" | "INFO";
  readonly errorMessage?: string;
}

export interface SuiteRun {
  readonly checks: readonly Check[];
  /** By name, each once. */
  readonly scenarios: readonly string[];
  /** What the suite itself printed, for when something is missing. */
  readonly output: string;
}

/** Which of the two releases of the official suite: each knows what the other does not. */
export type Suite = "conformance-2025" | "conformance-2026";

/** Runs the official suite in a process of its own, and reads what it wrote down. */
export async function runSuite(suite: Suite, args: readonly string[]): Promise<SuiteRun> {
  const folder = mkdtempSync(join(tmpdir(), "mandate-conformance-"));
  try {
    const output = await run([entryOf(suite), "server", ...args, "--output-dir", folder]);
    const files = globSync("*/checks.json", { cwd: folder }).sort();
    const checks = files.flatMap((file) => {
      // server-<scenario>-<time>
      const scenario = basename(dirname(file)).replace(/^server-|-\d{4}-\d\d-\d\dT.*$/g, "");
      const read = JSON.parse(readFileSync(join(folder, file), "utf8")) as Omit<
        Check,
        "scenario"
      >[];
      return read.map((check) => ({ ...check, scenario }));
    });
    return { checks, scenarios: [...new Set(checks.map(({ scenario }) => scenario))], output };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** One line for each check that did not pass. */
export function failuresOf(
  { checks }: SuiteRun,
  allowed: readonly string[] = [],
): readonly string[] {
  return checks
    .filter(({ status }) => status === "FAILURE" || status === "WARNING")
    .filter(({ id }) => !allowed.includes(id))
    .map(({ scenario, id, errorMessage }) => `${scenario}: ${id}: ${errorMessage}`);
}

const manifests: Readonly<Record<Suite, string>> = {
  "conformance-2025": import.meta.resolve("conformance-2025/package.json"),
  "conformance-2026": import.meta.resolve("conformance-2026/package.json"),
};

function entryOf(suite: Suite): string {
  return fileURLToPath(new URL("dist/index.js", manifests[suite]));
}

async function run(args: readonly string[]): Promise<string> {
  const child = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "pipe"] });
  let output = "";
  child.stdout.on("data", (chunk) => (output += chunk));
  child.stderr.on("data", (chunk) => (output += chunk));
  await new Promise((resolve, reject) => {
    child.once("error", reject);
    child.once("close", resolve);
  });
  return output;
}
