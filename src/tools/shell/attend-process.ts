import type { Clock } from "../../ports/clock.ts";
import type { ToolResult } from "../tool.ts";
import { describeEnd, describeOutput } from "./describe-outcome.ts";
import type { Outcome, ShellProcess } from "./shell-process.ts";

/** Whether it has ended by then. Stops waiting, and nothing else, when the signal says so. */
export async function waitFor(
  process: ShellProcess,
  ms: number,
  signal: AbortSignal,
  clock: Clock,
): Promise<boolean> {
  const { promise: late, resolve } = Promise.withResolvers<boolean>();
  const giveUp = () => resolve(false);
  const timer = clock.after(ms, giveUp);
  signal.addEventListener("abort", giveUp, { once: true });
  try {
    return await Promise.race([process.ended.then(() => true), late]);
  } finally {
    timer.cancel();
    signal.removeEventListener("abort", giveUp);
  }
}

/**
 * An exit code is an answer, whatever it is; having been ended is a failure, and so is having left
 * what may not be there.
 */
export async function tellEnd(process: ShellProcess): Promise<ToolResult> {
  const outcome = await process.ended;
  const text = describeOutput(describeEnd(outcome), process.takeOutput());
  const { endedBecause, objection } = outcome;
  const isAnswer = endedBecause === undefined && objection === undefined;
  return isAnswer ? { text, ...exitOf(outcome) } : failure(text);
}

/** Of one in the background: how far it is, and what it said since the last time. */
export async function tellState(process: ShellProcess, whileRunning: string): Promise<ToolResult> {
  if (process.isRunning) return { text: describeOutput(whileRunning, process.takeOutput()) };
  const outcome = await process.ended;
  const text = describeOutput(describeEnd(outcome), process.takeOutput());
  return outcome.objection === undefined ? { text, ...exitOf(outcome) } : failure(text);
}

/** Of one that was ended the code says how it took that, and nothing about its work. */
function exitOf({ code, endedBecause }: Outcome): Pick<ToolResult, "exitCode"> {
  return code === null || endedBecause !== undefined ? {} : { exitCode: code };
}

export function failure(text: string): ToolResult {
  return { text, isError: true };
}
