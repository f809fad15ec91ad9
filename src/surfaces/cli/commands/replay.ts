import { compareStoredRuns, Forks, replay } from "../../../application/replay.ts";
import type { RunDifference } from "../../../delegations/replay/compare-runs.ts";
import { openStore } from "../../../open-store.ts";
import { MandateError } from "../../../ports/mandate-error.ts";
import type { Store } from "../../../ports/store.ts";
import { countOf } from "../amounts.ts";
import { announceModel, attend, attendOptions, displayFor } from "../attend.ts";
import { type Arguments, type Command, jsonOption, text } from "../command.ts";
import { exitCode } from "../exit-code.ts";
import { findTarget } from "../find-target.ts";
import { consentOptions, requireConsent } from "../folder-consent.ts";
import type { Io } from "../io.ts";
import {
  applicationFor,
  chosenPlaybook,
  openRuntime,
  playbookOf,
  runtimeOptions,
} from "../open-runtime.ts";
import { printableLine, printJson } from "../printable.ts";
import { styleFor } from "../style.ts";
import { withStore } from "../with-store.ts";
import type { Work } from "../work-on.ts";

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

export const forkCommand: Command = {
  name: "fork",
  usage: "[options] RUN --at EVENT",
  about:
    "Starts a new run that shares the history of another one up to an event (mandate logs shows event\n" +
    "numbers), and continues live from there: with another profile, another model, or another message.\n" +
    "It shares the root agent's conversation up to the last turn that was complete at that event. A\n" +
    "child that repeats the task of a child that had finished by then gets the recorded answer instead\n" +
    "of a model's, as long as its prompts are the same.",
  options: {
    at: text("EVENT", "the last event to share, by its number in logs"),
    profile: text("NAME", "agent profile (default: same as before)"),
    task: text("TEXT", "your next message (default: continue)"),
    ...runtimeOptions,
    ...consentOptions,
    model: text("PROVIDER/MODEL", "the model of the fork, and the default of its sub-agents"),
    ...attendOptions,
  },
  words: { least: 1, most: 1, needs: "the ID of a run: see mandate ls" },
  examples: ["fork r1a2b3c --at 57", 'fork r1a2b3c --at 57 --task "Look at the tests first."'],
  run: fork,
};

async function fork(given: Arguments, io: Io): Promise<number> {
  const at = given.count("at");
  if (at === undefined) {
    throw new MandateError(
      "usage",
      `fork needs --at EVENT: ${io.program} logs ${given.words[0] ?? "RUN"} shows their numbers.`,
    );
  }
  const past = await withStore(io, async (store) => {
    const { runId } = await findTarget(store, given.words[0], io);
    const run = await store.readRun(runId);
    return { runId, application: run?.application ?? "", workspace: run?.workspace ?? null };
  });
  const chosen = chosenPlaybook(given, io);
  const application = chosen === undefined ? past.application : applicationFor(chosen);
  const forks = new Forks();
  const runtime = await openRuntime(given, io, application, { middleware: [forks.middleware] });
  try {
    await requireConsent(past.workspace, { given, io, runtime });
    const work: Work = {
      runtime,
      io,
      display: displayFor(given, io),
      async begin(watch) {
        announceModel(runtime.models.defaultModel, playbookOf(application), work);
        const started = await forks.fork(runtime, {
          runId: past.runId,
          at,
          profile: given.text("profile"),
          model: given.text("model"),
          task: given.text("task"),
        });
        const turns = started.turns === 1 ? "1 turn" : `${started.turns} turns`;
        work.display.say(
          `${started.runId} shares ${turns} of ${past.runId}, up to event ${started.sharedUpTo}.`,
        );
        await watch(started);
        return started;
      },
    };
    return await attend(given, work);
  } finally {
    await runtime.close();
  }
}
