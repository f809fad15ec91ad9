import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { isWell, runConsumer } from "./check-consumers.ts";
import type { Outcome } from "./outcome.ts";
import { outcomeOf, tail } from "./outcome.ts";
import { runProgram } from "./run-program.ts";

/** The oldest that is supported, and the last of each line that was old enough when this was written. */
export const nodeVersions = ["22.18.0", "22.23.3", "24.21.0", "26.10.0"];

/** The installed package, its library and its program, on every Node that it is meant for. */
export async function checkNodeVersions(folder: string, project: string): Promise<Outcome> {
  const problems: string[] = [];
  const notes: string[] = [];
  for (const version of nodeVersions) {
    const node = await fetchNode(version, join(folder, `node-${version}`));
    if (node === undefined) {
      problems.push(`Node ${version} could not be installed.`);
      continue;
    }
    const ran = await runConsumer(node, project);
    if (!isWell(ran)) {
      problems.push(`On Node ${version} a program failed:\n    ${tail(ran.stdout + ran.stderr)}`);
    }
    const program = join(project, "node_modules", "mandate", "dist", "mandate.js");
    const home = join(project, `home-${version}`);
    const environment = { PATH: process.env["PATH"], HOME: home, MANDATE_HOME: home };
    const demo = await runProgram(node, [program, "demo", "--speed", "50"], {
      cwd: project,
      environment,
    });
    if (demo.code !== 0) {
      problems.push(`On Node ${version} the demonstration failed:\n    ${tail(demo.stderr)}`);
    }
    const warnings = new Set(`${ran.stderr}${demo.stderr}`.match(/\w*Warning: [^\n]*/g));
    notes.push(`Node ${version}: ${warnings.size === 0 ? "no warning" : [...warnings].join("; ")}`);
  }
  return outcomeOf(problems, ...notes);
}

async function fetchNode(version: string, folder: string): Promise<string | undefined> {
  mkdirSync(folder, { recursive: true });
  const about = { private: true, allowScripts: { node: true } };
  writeFileSync(join(folder, "package.json"), JSON.stringify(about));
  const words = ["install", "--no-audit", "--no-fund", "--loglevel=error", `node@${version}`];
  const { code } = await runProgram("npm", words, { cwd: folder });
  const node = join(folder, "node_modules", ".bin", "node");
  if (code !== 0) return undefined;
  const { stdout } = await runProgram(node, ["--version"], { cwd: folder });
  return stdout.trim() === `v${version}` ? node : undefined;
}
