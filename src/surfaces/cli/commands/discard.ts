import type { DiscardedWork } from "../../../application/kept-work/kept-work.ts";
import { countOf } from "../amounts.ts";
import type { Arguments } from "../arguments.ts";
import { type Command, jsonOption } from "../command.ts";
import { exitCode } from "../exit-code.ts";
import type { Io } from "../io.ts";
import { printableJson, printableLine } from "../printable.ts";
import { styleFor } from "../style.ts";
import { withKeptWork } from "../with-kept-work.ts";

export const discardCommand: Command = {
  name: "discard",
  usage: "[options] ID",
  about:
    "Deletes the copy that a delegation worked in, with the changes that were not merged, for good.\n" +
    "Asks first at a terminal; elsewhere it needs --yes when there is something to lose. The log\n" +
    "stays. What was discarded cannot be resumed on its old files.",
  options: {
    json: jsonOption,
    yes: { type: "flag", short: "y", help: "delete changes that were not merged, without asking" },
  },
  words: { least: 1, most: 1, needs: "the ID of a delegation, or of its run: see mandate ls" },
  run: (given, io) =>
    withKeptWork(io, async (work) => {
      const by = { id: "local", role: "operator" } as const;
      const [id = ""] = given.words;
      const first = await work.discard(id, by, { deleteChanges: given.flag("yes") });
      if (first.status === "discarded") return report(first, given, io);
      if (!(await isAgreed(first, io))) return refuse(first, given, io);
      return report(await work.discard(first.delegationId, by, { deleteChanges: true }), given, io);
    }),
};

type Kept = Extract<DiscardedWork, { status: "kept" }>;

const shownFiles = 20;

/** Nobody to ask means no. */
async function isAgreed({ delegationId, files }: Kept, io: Io): Promise<boolean> {
  if (io.ask === undefined) return false;
  const { paint } = styleFor(io.stderr, io);
  for (const path of files.slice(0, shownFiles)) {
    io.stderr.write(`  ${paint.bad(printableLine(path))}\n`);
  }
  const more = files.length - shownFiles;
  if (more > 0) io.stderr.write(`  and ${countOf(more, "other file")}\n`);
  const question = `Delete the changes of ${delegationId} for good? [y/N] `;
  const answer = await io.ask(question, new AbortController().signal).catch(() => "");
  return /^y(es)?$/i.test(answer.trim());
}

function refuse(kept: Kept, given: Arguments, io: Io): number {
  if (given.flag("json")) io.stdout.write(`${printableJson(kept, 2)}\n`);
  if (io.ask !== undefined) {
    io.stderr.write("Nothing was discarded.\n");
    return exitCode.failed;
  }
  const { paint } = styleFor(io.stderr, io);
  const { delegationId: id } = kept;
  io.stderr.write(
    `${paint.bad("mandate:")} ${printableLine(kept.sentence)}\n` +
      `Look: ${io.program} diff ${id}  Merge: ${io.program} merge ${id}  Delete: ${io.program} discard --yes ${id}\n`,
  );
  return exitCode.usage;
}

function report(result: DiscardedWork, given: Arguments, io: Io): number {
  const { delegationId, files } = result;
  if (given.flag("json")) io.stdout.write(`${printableJson(result, 2)}\n`);
  else {
    const lost = files.length === 0 ? "" : `, with changes to ${countOf(files.length, "file")}`;
    io.stdout.write(`Discarded the copy of ${delegationId}${lost}.\n`);
  }
  return exitCode.done;
}
