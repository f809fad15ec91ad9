import { lstatSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { megabytes } from "./check-contents.ts";
import type { Outcome } from "./outcome.ts";
import { outcomeOf } from "./outcome.ts";
import { runProgram } from "./run-program.ts";

/** The lightest comparable framework of sub-agents, installed in the same way. */
const most = { packages: 42, bytes: 58_000_000 };
/** With the optional dependencies, which the chat screen uses. */
const mostByDefault = { packages: 95, bytes: 80_000_000 };
/** Over a Node that does nothing: what a program pays that imports us and does not delegate yet. */
const mostImportMs = 30;

/** What an install brings, by default and with `--omit=optional`, and what importing costs. */
export async function weighPackage(project: string, slim: string): Promise<Outcome> {
  const bare = await medianStart(project, "0");
  const imported = await medianStart(project, 'await import("mandate")');
  const opened = await medianStart(project, openAndClose);
  const problems = [
    ...problemsOf("a default install", project, mostByDefault),
    ...problemsOf("--omit=optional", slim, most),
    ...(imported - bare > mostImportMs
      ? [`Importing takes ${Math.round(imported - bare)} ms of work, over ${mostImportMs}.`]
      : []),
  ];
  return outcomeOf(
    problems,
    `${weightOf(project)}; with --omit=optional ${weightOf(slim)}`,
    `import +${Math.round(imported - bare)} ms, and +${Math.round(opened - bare)} ms until it is open (processor time; bare Node ${Math.round(bare)} ms)`,
  );
}

function weightOf(project: string): string {
  const bytes = sizeOf(join(project, "node_modules"));
  return `${installedPackages(project).length} packages, ${megabytes(bytes)}`;
}

function problemsOf(what: string, project: string, limit: typeof most): readonly string[] {
  const isHeavy =
    installedPackages(project).length > limit.packages ||
    sizeOf(join(project, "node_modules")) > limit.bytes;
  const allowed = `${limit.packages} packages, ${megabytes(limit.bytes)}`;
  return isHeavy ? [`${what} brings ${weightOf(project)}, over ${allowed}.`] : [];
}

/** Each as name@version, ours included; a package may be installed in several places. */
export function installedPackages(project: string): readonly string[] {
  const lockfile = readFileSync(join(project, "node_modules", ".package-lock.json"), "utf8");
  const packages: Readonly<Record<string, { version: string }>> = JSON.parse(lockfile).packages;
  return Object.entries(packages).map(([path, { version }]) => {
    return `${path.slice(path.lastIndexOf("node_modules/") + "node_modules/".length)}@${version}`;
  });
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
