import { constants } from "node:os";
import type { Clock } from "../../ports/clock.ts";
import { describeRefused } from "../../workspaces/egress/egress-log.ts";
import { cleanText } from "../mcp/clean-text.ts";
import type { ToolResult } from "../tool.ts";
import type { HeadAndTail } from "./head-and-tail.ts";
import type { Outcome, ShellProcess } from "./shell-process.ts";

/** Beyond this the end comes first, since only the beginning of a long result is shown. */
const shortBytes = 48 * 1024;
const endBytes = 16 * 1024;
const mostBytes = 4 * 1024 * 1024;

/** How it ended, in words, and what there is to say about it. */
export function describeEnd(outcome: Outcome): string {
  const { objection, remark } = outcome;
  return [describeCode(outcome), objection, remark].filter((part) => part !== undefined).join(" ");
}

function describeCode({ code, signal, endedBecause }: Outcome): string {
  if (endedBecause !== undefined) return endedBecause;
  if (code === null) return `Ended by ${signal ?? "an unknown signal"}.`;
  const meaning = meaningOf(code);
  return `Exit code ${code}${meaning === undefined ? "" : ` (${meaning})`}.`;
}

function meaningOf(code: number): string | undefined {
  if (code === 126) return "found, but not a program that can be run";
  if (code === 127) return "a program was not found";
  if (code <= 128) return undefined;
  const name = Object.entries(constants.signals).find(([, number]) => number === code - 128)?.[0];
  return name && `ended by ${name}`;
}

/** A sentence, and what was said after it. */
function describeOutput(sentence: string, output: HeadAndTail): string {
  if (output.bytes === 0) return `${sentence} No output.`;
  const { head, tail, leftOut } = output;
  const clean = (bytes: Buffer) => cleanText(bytes.toString("utf8"), mostBytes);
  if (output.bytes <= shortBytes) return `${sentence}\n${clean(Buffer.concat([head, tail]))}`;
  const end = tail.length >= endBytes ? tail : Buffer.concat([head, tail]);
  const whole =
    leftOut === 0
      ? clean(Buffer.concat([head, tail]))
      : `${clean(head)}\n[… ${leftOut} bytes left out …]\n${clean(tail)}`;
  return (
    `${sentence} ${output.bytes} bytes of output, the end of it first:\n` +
    `[…]${clean(end.subarray(-endBytes))}\n\n[From the beginning:]\n${whole}`
  );
}

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
  const { endedBecause, objection } = outcome;
  return tell(process, outcome, endedBecause === undefined && objection === undefined);
}

/** The state of a command in the background, with its output since the last call. */
export async function tellState(process: ShellProcess, whileRunning: string): Promise<ToolResult> {
  if (process.isRunning) return tell(process, whileRunning, true);
  const outcome = await process.ended;
  return tell(process, outcome, outcome.objection === undefined);
}

function tell(process: ShellProcess, how: Outcome | string, isAnswer: boolean): ToolResult {
  const connections = process.takeConnections();
  const sentence = typeof how === "string" ? how : describeEnd(how);
  const about = [sentence, describeRefused(connections)].filter((part) => part !== undefined);
  const text = describeOutput(about.join(" "), process.takeOutput());
  return {
    text,
    ...(connections && { connections }),
    ...(isAnswer ? typeof how !== "string" && exitOf(how) : { isError: true }),
  };
}

/** The exit code. A command that was ended has none: its code would say nothing about its work. */
function exitOf({ code, endedBecause }: Outcome): Pick<ToolResult, "exitCode"> {
  return code === null || endedBecause !== undefined ? {} : { exitCode: code };
}

export function failure(text: string): ToolResult {
  return { text, isError: true };
}
