/** Feeds every reader of strangers' input what strangers send, for as long as it is told to. */
import { join } from "node:path";
import { allTargets } from "./fuzz/all-targets.ts";
import { writeFailure } from "./fuzz/corpus.ts";
import { type Options, parseOptions, usage } from "./fuzz/options.ts";
import { commandFor } from "./fuzz/repeat-command.ts";
import { type FuzzOutcome, runTarget } from "./fuzz/run-target.ts";
import type { Target } from "./fuzz/target.ts";
import { tryProperties } from "./fuzz/try-properties.ts";
import { Watchdog } from "./fuzz/watchdog.ts";

const foundFolder = join(import.meta.dirname, "..", ".mandate", "fuzz");

async function main(words: readonly string[]): Promise<number> {
  let options: Options;
  try {
    options = parseOptions(words, process.env);
  } catch (error) {
    console.error(`${(error as Error).message}\n\n${usage}`);
    return 2;
  }
  if (options.isProperties) return tryProperties();
  const targets = chosen(options.only);
  if (targets.length === 0) {
    console.error(`Nothing is called ${options.only.join(", ")}. See --list.`);
    return 2;
  }
  if (options.isList) {
    for (const { name, promise, surface } of targets)
      console.log(`${surface.padEnd(10)} ${name.padEnd(22)} ${promise}`);
    return 0;
  }
  const each = options.seconds / targets.length;
  console.log(`fuzz: ${targets.length} targets, ${each.toFixed(1)} s each, seed ${options.seed}`);
  let failed = 0;
  for (const target of targets) {
    const outcome = await fuzz(target, options, each);
    console.log(describe(target, outcome));
    if (outcome.failure !== undefined) failed += 1;
  }
  console.log(failed === 0 ? "passed" : `${failed} of ${targets.length} targets failed`);
  return failed === 0 ? 0 : 1;
}

function chosen(only: readonly string[]): readonly Target[] {
  if (only.length === 0) return allTargets;
  const exact = allTargets.filter(({ name, surface }) =>
    only.some((o) => o === name || o === surface),
  );
  if (exact.length > 0) return exact;
  return allTargets.filter(({ name }) => only.some((word) => name.startsWith(word)));
}

async function fuzz(target: Target, options: Options, seconds: number): Promise<FuzzOutcome> {
  const longest = (target.caseMs ?? 1000) * 20;
  using watchdog = new Watchdog(target.name, Math.max(longest, 20_000));
  const isTerminal = process.stderr.isTTY;
  let told = 0;
  return runTarget(target, {
    ...{ seed: options.seed, seconds },
    ...(options.path !== undefined && { path: options.path }),
    onCase: (seed, index) => watchdog.begin(seed, index),
    onProgress({ cases, seconds: passed }) {
      if (!isTerminal || performance.now() - told < 250) return;
      told = performance.now();
      process.stderr.write(`\r${target.name}: ${cases} cases, ${rate(cases, passed)}/s `);
    },
  });
}

function describe(target: Target, { cases, failure, seconds, skipped }: FuzzOutcome): string {
  const name = target.name.padEnd(22);
  const line = process.stderr.isTTY ? "\r" : "";
  if (skipped !== undefined) return `${line}skipped ${name} ${skipped}`;
  const figures = `${String(cases).padStart(8)} cases  ${rate(cases, seconds).padStart(7)}/s`;
  if (failure === undefined) return `${line}ok      ${name} ${figures}`;
  const file = writeFailure(
    foundFolder,
    `${target.name}-${failure.seed}`,
    failure.error,
    failure.input,
  );
  return [
    `${line}FAILED  ${name} ${figures}: ${target.promise}`,
    failure.error.replaceAll(/^/gm, "  "),
    `  input: ${file}`,
    `  again: ${commandFor(target.name, failure)}`,
  ].join("\n");
}

function rate(cases: number, seconds: number): string {
  return (cases / Math.max(seconds, 0.001)).toFixed(0);
}

process.exitCode = await main(process.argv.slice(2));
// What a target leaves open must not keep the process.
setTimeout(() => process.exit(), 1000).unref();
