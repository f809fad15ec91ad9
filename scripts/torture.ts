/** Kills a run with children at random moments, again and again, and sees whether anything is lost. */
import { recoveryBarMs } from "./torture/life.ts";
import { type Options, parseOptions, usage } from "./torture/options.ts";
import { Progress } from "./torture/progress.ts";
import type { Tally } from "./torture/tally.ts";
import { torture } from "./torture/torture.ts";
import { TortureFailure } from "./torture/torture-run.ts";

async function main(words: readonly string[]): Promise<number> {
  let options: Options;
  try {
    options = parseOptions(words);
  } catch (error) {
    console.error(`${(error as Error).message}\n\n${usage}`);
    return 2;
  }
  const began = performance.now();
  const progress = new Progress(process.stderr, 25);
  console.log(title(options));
  try {
    const tally = await torture(options, (sofar) => progress.show(sofar));
    progress.end();
    console.log(summary(tally, (performance.now() - began) / 1000));
    return 0;
  } catch (error) {
    progress.end();
    if (!(error instanceof TortureFailure)) throw error;
    console.log(failure(error, options));
    return 1;
  }
}

function title({ kills, seed, children, synchronous, everyAppend }: Options): string {
  const what = everyAppend ? "a death at every commit" : `${kills} kills, seed ${seed}`;
  return `torture: ${what}, ${children} children, synchronous ${synchronous}`;
}

function summary(tally: Tally, seconds: number): string {
  const { kills, runs, children, cutCalls, events, acknowledged, secondRecoveries } = tally;
  const recovery = `median ${Math.round(tally.medianRecovery)} ms, worst ${Math.round(tally.worstRecovery)} ms`;
  return [
    `passed: ${kills} kills in ${runs} runs, ${Math.round(seconds)} s`,
    `  recovery      ${recovery} from the start of the process (bar ${recoveryBarMs} ms), ${tally.recoveries.length} times`,
    `  events        ${events} stored, ${acknowledged} acknowledged, none of them lost`,
    `  children      ${children}, each with the result of the undisturbed run${cutCalls > 0 ? ", but for cut calls" : ""}`,
    `  cut calls     ${cutCalls} not idempotent, outcome unknown, none made twice`,
    `  repeated      ${secondRecoveries + runs} second recoveries, nothing written`,
    `  checker       clean after every kill and every run; no process left over`,
  ].join("\n");
}

function failure({ message, run, kill, folder }: TortureFailure, options: Options): string {
  const { seed, kills, children, synchronous, everyAppend } = options;
  const again = everyAppend ? "--every-append" : `--seed ${seed} --kills ${kills}`;
  return [
    `FAILED in run ${run}, after kill ${kill}:`,
    message.replaceAll(/^/gm, "  "),
    `kept: ${folder}`,
    `the same plan again: npm run torture -- ${again} --children ${children} --synchronous ${synchronous}`,
  ].join("\n");
}

process.exitCode = await main(process.argv.slice(2));
