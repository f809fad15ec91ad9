import { constants } from "node:os";
import { cleanText } from "../mcp/clean-text.ts";
import type { HeadAndTail } from "./head-and-tail.ts";
import type { Outcome } from "./shell-process.ts";

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
export function describeOutput(sentence: string, output: HeadAndTail): string {
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
