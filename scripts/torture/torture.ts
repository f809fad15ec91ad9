import { globSync, mkdtempSync, readFileSync, realpathSync, rmSync } from "node:fs";
import { availableParallelism, tmpdir } from "node:os";
import { join } from "node:path";
import { fatesAt, randomFates } from "./fates.ts";
import { sides } from "./job.ts";
import type { Options } from "./options.ts";
import { Tally } from "./tally.ts";
import { type NextFate, TortureFailure, type TortureOptions, tortureRun } from "./torture-run.ts";

/** Runs, killed again and again, until there were as many kills as asked for. Throws `TortureFailure`. */
export async function torture(options: Options, onChange: (tally: Tally) => void): Promise<Tally> {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), "mandate-torture-")));
  const { children, synchronous, everyAppend } = options;
  const tally: Tally = new Tally(options.kills, () => onChange(tally));
  const first: TortureOptions = {
    folder,
    compileCache: join(folder, "compiled"),
    // At every commit means many runs, so these are short.
    job: {
      children,
      synchronous,
      ...(everyAppend ? { rounds: 1, speed: 2 } : { rounds: 5, speed: 1 }),
    },
    tally: new Tally(0, () => {}),
  };
  const undisturbed = await tortureRun(0, () => ({ kind: "lives" }), first);
  const rest = { ...first, tally, undisturbed: undisturbed.outcome };
  // How much shares a commit varies a little from run to run.
  const points = Math.ceil(undisturbed.commits * 1.1) * sides.length;
  const nextRun = (number: number): NextFate | undefined => {
    if (everyAppend) return number <= points ? fatesAt(number - 1) : undefined;
    return tally.killsLeft > 0 ? randomFates(options.seed, number, tally) : undefined;
  };
  let number = 0;
  let hasFailed = false;
  const lane = async (): Promise<void> => {
    for (;;) {
      const fates = hasFailed ? undefined : nextRun(number + 1);
      if (fates === undefined) return;
      number += 1;
      await tortureRun(number, fates, rest).catch((error: unknown) => {
        hasFailed = true;
        throw error;
      });
    }
  };
  const lanes = Array.from({ length: Math.max(2, availableParallelism()) }, lane);
  // All of them end before we do, so that no process outlives a failure.
  const failed = (await Promise.allSettled(lanes)).find(({ status }) => status === "rejected");
  if (failed?.status === "rejected") throw failed.reason;
  const left = leftOver(folder);
  if (left.length > 0) {
    const problems = [`Processes were left over: ${left.join(", ")}.`];
    throw new TortureFailure(problems, { run: number, kill: tally.kills, folder });
  }
  rmSync(folder, { recursive: true });
  return tally;
}

/** Workers name their folders in their arguments. Where there is no /proc, nobody can look. */
function leftOver(folder: string): string[] {
  return globSync("/proc/[0-9]*/cmdline").filter((file) => {
    try {
      return readFileSync(file, "utf8").includes(folder);
    } catch {
      return false;
    }
  });
}
