import type { DelegationDiff } from "../../../application/kept-work/diff-of-delegation.ts";
import type { Arguments } from "../arguments.ts";
import { type Command, jsonOption } from "../command.ts";
import { drawPatch, drawStat } from "../draw-diff.ts";
import { exitCode } from "../exit-code.ts";
import type { Io } from "../io.ts";
import { printable, printableJson, printableLine } from "../printable.ts";
import { styleFor } from "../style.ts";
import { withKeptWork } from "../with-kept-work.ts";

export const diffCommand: Command = {
  name: "diff",
  usage: "[options] ID",
  about:
    "Shows what a delegation changed in its own copy of the workspace: as the copy is now, also while\n" +
    "it is at work; after it was merged, as the log has it. The id of a run means its root, or the one\n" +
    "delegation below it that has changes.",
  options: { json: jsonOption, stat: { type: "flag", help: "only the files, and how many lines" } },
  words: { least: 1, most: 1, needs: "the ID of a delegation, or of its run: see mandate ls" },
  examples: ["diff 1a2b3c", "diff --stat 1a2b3c", "diff 1a2b3c | git apply --check"],
  run: (given, io) =>
    withKeptWork(io, async (work) => {
      const diff = await work.diff(given.words[0] ?? "");
      if (given.flag("json")) {
        const { text, ...stat } = diff;
        const document = given.flag("stat") ? stat : { ...stat, text };
        io.stdout.write(`${printableJson(document, 2)}\n`);
      } else print(diff, given, io);
      return exitCode.done;
    }),
};

function print(diff: DelegationDiff, given: Arguments, io: Io): void {
  const style = styleFor(io.stdout, io);
  if (given.flag("stat")) {
    for (const line of drawStat(diff, style)) io.stdout.write(`${line}\n`);
  } else if (io.stdout.isTerminal) io.stdout.write(drawPatch(printable(diff.text), style));
  // A pipe gets every byte as it was, so that the patch can be applied.
  else io.stdout.writeExact(diff.text);
  for (const note of notesOf(diff, io.program)) io.stderr.write(`mandate: ${note}\n`);
}

function notesOf(diff: DelegationDiff, program: string): string[] {
  const { delegationId: id, files, problems, source, status, truncated } = diff;
  const isOver = status === "completed" || status === "failed";
  const isKept = source === "copy" && status === "failed" && files.length > 0;
  return [
    ...(files.length === 0 && problems.length === 0 ? [`${id} has changed nothing.`] : []),
    ...problems.map((sentence) => printableLine(sentence)),
    ...(truncated ? ["The text was cut: there is more than is shown."] : []),
    ...(isOver ? [] : [`${id} is still at work: this is how it stands now.`]),
    ...(isKept
      ? [`None of this is merged yet: ${program} merge ${id}, or ${program} discard ${id}`]
      : []),
  ];
}
