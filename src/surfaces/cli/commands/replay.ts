import { compareStoredRuns, replay } from "../../../application/replay.ts";
import type { RunDifference } from "../../../delegations/replay/compare-runs.ts";
import { openStore } from "../../../open-store.ts";
import type { Store } from "../../../ports/store.ts";
import { countOf } from "../amounts.ts";
import { type Command, jsonOption, text } from "../command.ts";
import { exitCode } from "../exit-code.ts";
import { findTarget } from "../find-target.ts";
import type { Io } from "../io.ts";
import { printableLine, printJson } from "../printable.ts";
import { styleFor } from "../style.ts";
import { withStore } from "../with-store.ts";

export const replayCommand: Command = {
  name: "replay",
  usage: "[options] [RUN]",
  about:
    "Runs a recorded run again from its log alone: no model is asked, no tool runs, no file is\n" +
    "touched. Says where the events differ, and exits 1 when they do. Without an id, the latest run.\n" +
    "With --compare nothing is run: two recorded runs are compared.",
  options: {
    json: jsonOption,
    compare: text("RUN", "another recorded run to compare with"),
  },
  words: { least: 0, most: 1 },
  run: (given, io) =>
    withStore(io, async (store) => {
      const { runId } = await findTarget(store, given.words[0], io);
      const other = given.text("compare");
      const document =
        other === undefined
          ? await replayed(store, runId, io)
          : await compared(store, runId, (await findTarget(store, other, io)).runId);
      const isSame = document.differences.length === 0;
      if (given.flag("json")) printJson(io, { isSame, ...document });
      else tell(document.about, document.differences, io);
      return isSame ? exitCode.done : exitCode.failed;
    }),
};

async function replayed(store: Store, runId: string, io: Io) {
  const memory = await openStore({ environment: io.environment, database: ":memory:" });
  try {
    const { delegations, differences, events, isFinished } = await replay(store, runId, memory);
    const size = `${countOf(events, "event")}, ${countOf(delegations, "delegation")}`;
    const about = `${runId} replayed: ${size}${isFinished ? "" : " (it is still open)"}`;
    return { about, runId, isFinished, differences };
  } finally {
    await memory.close();
  }
}

async function compared(store: Store, one: string, other: string) {
  const differences = await compareStoredRuns(store, one, other);
  return { about: `${one} and ${other} compared`, runId: one, other, differences };
}

function tell(about: string, differences: readonly RunDifference[], io: Io): void {
  const { glyphs, paint } = styleFor(io.stdout, io);
  for (const { message, path } of differences) {
    io.stdout.write(`${paint.bad(glyphs.failed)} ${printableLine(`${path}: ${message}`)}\n`);
  }
  const outcome =
    differences.length === 0
      ? `${paint.good(glyphs.done)} ${about}: the same`
      : `${paint.bad(countOf(differences.length, "difference"))}, ${about}`;
  io.stdout.write(`${outcome}\n`);
}
