import { lstatSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { megabytes } from "./check-contents.ts";
import type { Outcome } from "./outcome.ts";
import { outcomeOf } from "./outcome.ts";
import { runProgram } from "./run-program.ts";

/** The lightest comparable framework of sub-agents, installed in the same way. */
const mostPackages = 42;
const mostBytes = 58_000_000;
/** Over a Node that does nothing: what a program pays that imports us and does not delegate yet. */
const mostImportMs = 30;

/** What somebody gets who installs the package and no optional peer, and what importing costs. */
export async function weighPackage(project: string): Promise<Outcome> {
  const modules = join(project, "node_modules");
  const count = installedPackages(project);
  const bytes = sizeOf(modules);
  const bare = await medianStart(project, "0");
  const imported = await medianStart(project, 'await import("mandate")');
  const opened = await medianStart(project, openAndClose);
  const problems = [
    ...(count > mostPackages ? [`${count} packages are installed, over ${mostPackages}.`] : []),
    ...(bytes > mostBytes
      ? [`${megabytes(bytes)} are installed, over ${megabytes(mostBytes)}.`]
      : []),
    ...(imported - bare > mostImportMs
      ? [`Importing takes ${Math.round(imported - bare)} ms of work, over ${mostImportMs}.`]
      : []),
  ];
  return outcomeOf(
    problems,
    `${count} packages, ${megabytes(bytes)}`,
    `import +${Math.round(imported - bare)} ms, and +${Math.round(opened - bare)} ms until it is open (processor time; bare Node ${Math.round(bare)} ms)`,
  );
}

/** Ours included. */
export function installedPackages(project: string): number {
  const lockfile = readFileSync(join(project, "node_modules", ".package-lock.json"), "utf8");
  return Object.keys(JSON.parse(lockfile).packages).length;
}

const openAndClose = `
  const { createMandate } = await import("mandate");
  const mandate = await createMandate({ database: ":memory:", environment: {} });
  await mandate.close()`;

/** Processor time and not the clock's: a machine that does much else must not decide about a release. */
async function medianStart(project: string, program: string): Promise<number> {
  const code = `${program};
    const { systemCPUTime, userCPUTime } = process.resourceUsage();
    process.stdout.write(String((systemCPUTime + userCPUTime) / 1000));`;
  const times: number[] = [];
  for (let turn = 0; turn < 7; turn++) {
    const words = ["--input-type=module", "-e", code];
    const { stdout, stderr } = await runProgram(process.execPath, words, { cwd: project });
    const time = Number(stdout);
    if (stdout === "" || !Number.isFinite(time)) throw new Error(stderr);
    times.push(time);
  }
  return times.sort((left, right) => left - right)[3] ?? 0;
}

export function sizeOf(path: string): number {
  const stats = lstatSync(path);
  if (!stats.isDirectory()) return stats.size;
  return readdirSync(path).reduce((sum, name) => sum + sizeOf(join(path, name)), 0);
}
