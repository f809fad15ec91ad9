import type { ToolResult } from "../tool.ts";
import { describeEnd, describeOutput } from "./describe-outcome.ts";
import type { ShellProcess } from "./shell-process.ts";

/** Whether it has ended by then. Stops waiting, and nothing else, when the signal says so. */
export async function waitFor(
  process: ShellProcess,
  ms: number,
  signal: AbortSignal,
): Promise<boolean> {
  const { promise: late, resolve } = Promise.withResolvers<boolean>();
  const giveUp = () => resolve(false);
  const timer = setTimeout(giveUp, ms);
  signal.addEventListener("abort", giveUp, { once: true });
  try {
    return await Promise.race([process.ended.then(() => true), late]);
  } finally {
    clearTimeout(timer);
    signal.removeEventListener("abort", giveUp);
  }
}

/** An exit code is an answer, whatever it is; having been ended is a failure. */
export async function tellEnd(process: ShellProcess): Promise<ToolResult> {
  const outcome = await process.ended;
  const text = describeOutput(describeEnd(outcome), process.takeOutput());
  return outcome.endedBecause === undefined ? { text } : failure(text);
}

/** Of one in the background: how far it is, and what it said since the last time. */
export async function tellState(process: ShellProcess, whileRunning: string): Promise<ToolResult> {
  const sentence = process.isRunning ? whileRunning : describeEnd(await process.ended);
  return { text: describeOutput(sentence, process.takeOutput()) };
}

export function failure(text: string): ToolResult {
  return { text, isError: true };
}
