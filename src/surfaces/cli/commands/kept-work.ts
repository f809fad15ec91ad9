import { existsSync } from "node:fs";
import type { DelegationDiff } from "../../../application/kept-work/diff-of-delegation.ts";
import {
  type DiscardedWork,
  KeptWork,
  type MergedWork,
} from "../../../application/kept-work/kept-work.ts";
import { findPlaces } from "../../../control/places.ts";
import type { Store } from "../../../ports/store.ts";
import { countOf } from "../amounts.ts";
import { type Arguments, type Command, flag, jsonOption } from "../command.ts";
import { exitCode } from "../exit-code.ts";
import { findTarget } from "../find-target.ts";
import { agrees, type Io, localUser } from "../io.ts";
import { ordinaryApplication, withRuntime } from "../open-runtime.ts";
import { printable, printableLine, printJson } from "../printable.ts";
import { drawPatch, drawStat } from "../run-hints.ts";
import { styleFor } from "../style.ts";
import { withKeptWork, withStore } from "../with-store.ts";

export const mergeCommand: Command = {
  name: "merge",
  usage: "[options] ID",
  about:
    "Merges the changes that a failed delegation left in its own copy into the folder that was copied:\n" +
    "all of them or none, and no edit of yours is overwritten. Its contract still applies: which paths\n" +
    "it owns, and which checks the merged files have to pass. The copy is removed after the merge.\n" +
    "Exits 1 on a conflict or when the changes cannot be merged, 3 when the contract forbids it.",
  options: {
    json: jsonOption,
    "any-path": flag("also paths that its step does not own"),
    "with-configuration": flag("also files that other programs obey: configuration, hooks, agents"),
    "skip-checks": flag("skip the checks of its contract"),
  },
  words: { least: 1, most: 1, needs: "the ID of a delegation, or of its run: see mandate ls" },
  run: merge,
};

async function merge(given: Arguments, io: Io): Promise<number> {
  const cwd = (await withStore(io, (store) => workspaceOf(store, given, io))) ?? io.cwd;
  return withRuntime(given, { ...io, cwd }, ordinaryApplication, async (runtime) => {
    const { home } = findPlaces(io.environment);
    const work = new KeptWork({ store: runtime.store, home });
    const result = await work.merge(given.words[0] ?? "", localUser, runtime, {
      anyPath: given.flag("any-path"),
      skipChecks: given.flag("skip-checks"),
      withConfiguration: given.flag("with-configuration"),
    });
    if (given.flag("json")) printJson(io, result);
    else print(result, io);
    return codeOf(result);
  });
}

/** The run's own folder, whose configuration applies wherever the command is typed. */
async function workspaceOf(store: Store, given: Arguments, io: Io): Promise<string | undefined> {
  const { runId } = await findTarget(store, given.words[0], io);
  const workspace = (await store.readRun(runId))?.workspace;
  return workspace && existsSync(workspace) ? workspace : undefined;
}

function codeOf({ status }: MergedWork): number {
  if (status === "merged") return exitCode.done;
  return status === "violation" ? exitCode.refused : exitCode.failed;
}

function print(result: MergedWork, io: Io): void {
  const { delegationId: id, into } = result;
  if (result.status === "merged") {
    const { paint, glyphs } = styleFor(io.stdout, io);
    for (const { path, before, after } of result.files) {
      const letter = before === null ? "A" : after === null ? "D" : "M";
      io.stdout.write(`${paint.dim(letter)} ${printableLine(path)}\n`);
    }
    const what = result.files.length === 0 ? "everything was there already" : sumOf(result);
    const where = printableLine(into);
    io.stdout.write(`${paint.good(glyphs.done)} Merged ${id} into ${where}: ${what}\n`);
    return;
  }
  const { paint } = styleFor(io.stderr, io);
  io.stderr.write(`${paint.bad("mandate:")} ${printableLine(result.sentence)}\n`);
  io.stderr.write(`Nothing was changed. Look at it: ${io.program} diff ${id}\n`);
}

function sumOf({ files }: MergedWork): string {
  return countOf(files.length, "file");
}

export const diffCommand: Command = {
  name: "diff",
  usage: "[options] [ID]",
  about:
    "Shows what a delegation changed in its own copy of the workspace: the present copy, also during\n" +
    "work; after the merge, the changes in the log. The id of a run means its root, or the only\n" +
    "delegation below it that has changes. Without an id, the latest run.",
  options: { json: jsonOption, stat: flag("only the files, and how many lines") },
  words: { least: 0, most: 1 },
  examples: ["diff", "diff 1a2b3c", "diff --stat 1a2b3c", "diff 1a2b3c | git apply --check"],
  run: (given, io) =>
    withKeptWork(io, async (work, store) => {
      const { delegationId, runId } = await findTarget(store, given.words[0], io);
      const diff = await work.diff(delegationId ?? runId);
      if (given.flag("json")) {
        const { text, ...stat } = diff;
        const document = given.flag("stat") ? stat : { ...stat, text };
        printJson(io, document);
      } else printDiff(diff, given, io);
      return exitCode.done;
    }),
};

function printDiff(diff: DelegationDiff, given: Arguments, io: Io): void {
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
    ...(truncated ? ["The text was cut: not everything is shown."] : []),
    ...(isOver ? [] : [`${id} is still at work: these are its changes so far.`]),
    ...(isKept
      ? [`None of this is merged yet: ${program} merge ${id}, or ${program} discard ${id}`]
      : []),
  ];
}

export const discardCommand: Command = {
  name: "discard",
  usage: "[options] ID",
  about:
    "Deletes the copy that a delegation worked in, with all changes that were not merged, for good.\n" +
    "Asks first at a terminal; elsewhere it needs --yes when there are such changes. The log stays.\n" +
    "A discarded delegation cannot be resumed on its old files.",
  options: {
    json: jsonOption,
    yes: flag("delete changes that were not merged, without asking", "y"),
  },
  words: { least: 1, most: 1, needs: "the ID of a delegation, or of its run: see mandate ls" },
  run: (given, io) =>
    withKeptWork(io, async (work) => {
      const [id = ""] = given.words;
      const first = await work.discard(id, localUser, { deleteChanges: given.flag("yes") });
      if (first.status === "discarded") return report(first, given, io);
      if (!(await isAgreed(first, io))) return refuse(first, given, io);
      return report(
        await work.discard(first.delegationId, localUser, { deleteChanges: true }),
        given,
        io,
      );
    }),
};

type Kept = Extract<DiscardedWork, { status: "kept" }>;

const shownFiles = 20;

/** Without a terminal the answer is no. */
async function isAgreed({ delegationId, files }: Kept, io: Io): Promise<boolean> {
  if (io.ask === undefined) return false;
  const { paint } = styleFor(io.stderr, io);
  for (const path of files.slice(0, shownFiles)) {
    io.stderr.write(`  ${paint.bad(printableLine(path))}\n`);
  }
  const more = files.length - shownFiles;
  if (more > 0) io.stderr.write(`  and ${countOf(more, "other file")}\n`);
  const question = `Delete the changes of ${delegationId} for good? [y/N] `;
  return agrees(io.ask, question);
}

function refuse(kept: Kept, given: Arguments, io: Io): number {
  if (given.flag("json")) printJson(io, kept);
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
  if (given.flag("json")) printJson(io, result);
  else {
    const lost = files.length === 0 ? "" : `, with changes to ${countOf(files.length, "file")}`;
    io.stdout.write(`Discarded the copy of ${delegationId}${lost}.\n`);
  }
  return exitCode.done;
}
