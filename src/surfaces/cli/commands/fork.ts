import { Forks } from "../../../application/replay.ts";
import { MandateError } from "../../../ports/mandate-error.ts";
import { announceModel, attend, attendOptions, displayFor } from "../attend.ts";
import { type Arguments, type Command, text } from "../command.ts";
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
import { withStore } from "../with-store.ts";
import type { Work } from "../work-on.ts";

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
