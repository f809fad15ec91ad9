import { describeResumed } from "../../application/commands/runs/describe-resumed.ts";
import { MandateError } from "../../ports/mandate-error.ts";
import { shorten } from "./display-width.ts";
import { printable, printableLine } from "./printable.ts";
import { styleFor } from "./style.ts";
import type { StartedRun, Work } from "./work-on.ts";

type Resuming = Pick<Work, "runtime" | "display" | "io">;
type Watch = Parameters<Work["begin"]>[0];

/** Recovers every run of this application that lost its process. */
export async function recoverRuns(
  { runtime: { engine, store }, display, io }: Resuming,
  watch: Watch,
): Promise<readonly StartedRun[]> {
  const { paint } = styleFor(io.stderr, io);
  const recovered = await engine.recover(undefined, ({ message }) =>
    display.say(`An interrupted run could not be recovered: ${printable(message)}`),
  );
  for (const run of recovered) {
    const task = (await store.readRun(run.runId))?.task ?? "";
    const about = shorten(printableLine(task), 40);
    display.say(
      `${paint.warn(`${run.runId} was interrupted`)} and continues where it stopped: ${about}`,
    );
    await watch(run);
  }
  return recovered;
}

/** Resumes runs beside new work, which none of them keeps from starting. */
export async function resumeBeside(
  { runtime: { engine }, display }: Resuming,
  watch: Watch,
  ids: readonly string[],
): Promise<void> {
  for (const id of ids) {
    try {
      const resumed = await engine.resume(id);
      display.say(printable(describeResumed(resumed, id)));
      for (const run of resumed.runs) await watch(run);
    } catch (error) {
      if (!(error instanceof MandateError)) throw error;
      display.say(printable(error.message));
    }
  }
}
