import { exitCode } from "./exit-code.ts";
import type { Io } from "./io.ts";
import type { StoppedRun, WorkOutcome } from "./work-on.ts";

type Interrupted = Extract<WorkOutcome, { ended: "interrupted" }>;

/** What became of every run that it was about, and how to go on with those that were not done. */
export function describeInterruption({ code, stopped }: Interrupted, io: Io): string {
  const isByPerson = code === exitCode.interrupted;
  const left = stopped.filter(({ state }) => state !== "ended");
  if (left.length === 0) {
    const by = isByPerson ? "interrupted" : "stopped by the system";
    return `${by}. ${names(stopped)} had ended: ${commands("result", stopped, io)}`;
  }
  const next = `Go on with: ${commands("resume", left, io)}`;
  return isByPerson
    ? `${became(left)}. ${next}`
    : `stopped by the system; the next start takes ${names(left)} up again. ${next}`;
}

const fates = { cancelled: "cancelled", paused: "paused", open: "left open" } as const;

/** `r1 was paused; r2, r3 were cancelled` */
function became(runs: readonly StoppedRun[]): string {
  return Object.entries(fates)
    .map(([state, fate]) => ({ fate, of: runs.filter((run) => run.state === state) }))
    .filter(({ of }) => of.length > 0)
    .map(({ fate, of }) => `${names(of)} ${of.length === 1 ? "was" : "were"} ${fate}`)
    .join("; ");
}

function names(runs: readonly StoppedRun[]): string {
  return runs.map(({ runId }) => runId).join(", ");
}

/** Each after the other, as a shell takes them. */
function commands(command: string, runs: readonly StoppedRun[], { program }: Io): string {
  return runs.map(({ runId }) => `${program} ${command} ${runId}`).join("; ");
}
