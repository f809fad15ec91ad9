import { existsSync } from "node:fs";
import { KeptWork, type MergedWork } from "../../../application/kept-work/kept-work.ts";
import { findPlaces } from "../../../control/places.ts";
import type { Store } from "../../../ports/store.ts";
import { countOf } from "../amounts.ts";
import type { Arguments } from "../arguments.ts";
import { type Command, jsonOption } from "../command.ts";
import { exitCode } from "../exit-code.ts";
import { findTarget } from "../find-target.ts";
import type { Io } from "../io.ts";
import { openRuntime } from "../open-runtime.ts";
import { ordinaryApplication } from "../playbook-application.ts";
import { printableJson, printableLine } from "../printable.ts";
import { styleFor } from "../style.ts";
import { withStore } from "../with-store.ts";

export const mergeCommand: Command = {
  name: "merge",
  usage: "[options] ID",
  about:
    "Takes over what a failed delegation left in its own copy, into the folder that the copy was made\n" +
    "of: all of it or nothing, and no edit of yours is overwritten. Its contract still counts: which\n" +
    "paths belong to it, and which checks the merged files have to pass. What was merged needs no copy\n" +
    "any more. Exits 1 when it conflicts or cannot be merged, 3 when the contract does not let it.",
  options: {
    json: jsonOption,
    "any-path": { type: "flag", help: "also paths that do not belong to its step" },
    "with-configuration": {
      type: "flag",
      help: "also what programs obey without being asked: configuration, hooks, agents",
    },
    "skip-checks": { type: "flag", help: "without the checks that its contract asks for" },
  },
  words: { least: 1, most: 1, needs: "the ID of a delegation, or of its run: see mandate ls" },
  run: merge,
};

async function merge(given: Arguments, io: Io): Promise<number> {
  const cwd = (await withStore(io, (store) => workspaceOf(store, given, io))) ?? io.cwd;
  const runtime = await openRuntime(given, { ...io, cwd }, ordinaryApplication);
  try {
    const { home } = findPlaces(io.environment);
    const work = new KeptWork({ store: runtime.store, home });
    const by = { id: "local", role: "operator" } as const;
    const result = await work.merge(given.words[0] ?? "", by, runtime, {
      anyPath: given.flag("any-path"),
      skipChecks: given.flag("skip-checks"),
      withConfiguration: given.flag("with-configuration"),
    });
    if (given.flag("json")) io.stdout.write(`${printableJson(result, 2)}\n`);
    else print(result, io);
    return codeOf(result);
  } finally {
    await runtime.close();
  }
}

/** Where the run was at work, wherever this is typed: what that place obeys is guarded. */
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
