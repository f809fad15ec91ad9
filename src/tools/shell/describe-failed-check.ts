import { tailOf } from "../../text.ts";
import type { CheckVerdict } from "../../workspaces/git/integration/merge-check.ts";
import { cleanLine, cleanText } from "../mcp/clean-text.ts";
import type { HeadAndTail } from "./head-and-tail.ts";

const shownLines = 20;
const shownCharacters = 2000;
const commandBytes = 200;

/** What a failed check says to whoever has to mend it: which one, how it ended, its last words. */
export function describeFailedCheck(
  command: string,
  end: string,
  output?: HeadAndTail,
): CheckVerdict {
  const words = output === undefined ? "" : lastWords(output);
  const said = output === undefined ? "" : words === "" ? " No output." : " The end of its output:";
  const name = cleanLine(command, commandBytes);
  const sentence = `the check "${name}" failed. ${end}${said}`;
  return { passed: false, reason: words === "" ? sentence : `${sentence}\n${words}` };
}

function lastWords({ head, tail }: HeadAndTail): string {
  // A character is at most four bytes; what ends up outside these was never going to be shown.
  const end = Buffer.concat([head, tail]).subarray(-shownCharacters * 8);
  const lines = cleanText(end.toString("utf8"), end.length * 3)
    .trimEnd()
    .split("\n");
  // Cut at the front: a program says at the end what went wrong.
  return tailOf(lines.slice(-shownLines).join("\n"), shownCharacters).trimStart();
}
