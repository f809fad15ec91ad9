import { exitCode } from "./exit-code.ts";
import type { Io } from "./io.ts";
import type { StoppedRun, WorkOutcome } from "./work-on.ts";

type Interrupted = Extract<WorkOutcome, { ended: "interrupted" }>;

/** What became of every run that it was about, and how to resume those that were not done. */
export function describeInterruption({ code, stopped }: Interrupted, io: Io): string {
  const isByPerson = code === exitCode.interrupted;
  const answered = stopped.filter(({ state }) => state === "answered");
  const left = stopped.filter(({ state }) => state !== "ended" && state !== "answered");
  if (left.length === 0 && answered.length > 0) {
    const which = `${names(answered)} had answered; its background sub-agents were stopped as their contracts say`;
    return `${which}. What they did: ${commands("tree", answered, io)}`;
  }
  if (left.length === 0) {
    const by = isByPerson ? "interrupted" : "stopped by the system";
    return `${by}. ${names(stopped)} had ended: ${commands("result", stopped, io)}`;
  }
  const next = `Resume: ${commands("resume", left, io)}`;
  return isByPerson
    ? `${became(left)}. ${next}`
    : `stopped by the system; ${names(left)} ${left.length === 1 ? "is" : "are"} not finished. ${next}`;
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
