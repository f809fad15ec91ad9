import { describeResumed } from "../../../application/commands/runs/describe-resumed.ts";
import { isOpen } from "../../../events/delegation.ts";
import { isRunInterrupted } from "../../../events/is-run-interrupted.ts";
import { sleep, systemClock } from "../../../ports/clock.ts";
import type { Store } from "../../../ports/store.ts";
import type { Arguments } from "../arguments.ts";
import { announceModel, attendOptions, displayFor } from "../attend.ts";
import { Background } from "../background.ts";
import type { Command } from "../command.ts";
import { exitCode } from "../exit-code.ts";
import { findTarget, type Target } from "../find-target.ts";
import { consentOptions, requireConsent } from "../folder-consent.ts";
import type { Io } from "../io.ts";
import { chosenPlaybook, openRuntime, runtimeOptions } from "../open-runtime.ts";
import { applicationFor, playbookOf } from "../playbook-application.ts";
import { printable } from "../printable.ts";
import { reportResumed } from "../report-resumed.ts";
import { sessionOption } from "../speaker.ts";
import { withStore } from "../with-store.ts";
import { type Work, workOn } from "../work-on.ts";

export const resumeCommand: Command = {
  name: "resume",
  usage: "[options] ID",
  about:
    "Resumes a run. One that was paused or interrupted (its process was killed, the machine went\n" +
    "down) continues where it stopped. One that was cancelled or failed continues as a new run on the\n" +
    "old conversation; the id of one of its delegations continues that one alone. It gets the tokens\n" +
    "and the time that were agreed then once more, or what you say. Of a session of another program's\n" +
    "agent every sub-agent that did not complete is resumed.",
  options: {
    "session-id": sessionOption,
    "max-tokens": { type: "text", value: "NUMBER", help: "for the agent and everyone below it" },
    "max-cost": { type: "text", value: "DOLLARS", help: "the same in US dollars: 2.50" },
    timeout: { type: "text", value: "TIME", help: "for all of it: 90s, 5m, 1h" },
    wait: { type: "flag", help: "until the process that works on it now has let go of it" },
    ...runtimeOptions,
    ...consentOptions,
    ...attendOptions,
  },
  words: { least: 1, most: 1, needs: "the ID of a run or a delegation: see mandate ls" },
  run: resume,
};

/** How often a run of another process is looked at. */
const lookMs = 200;

interface Past extends Target {
  readonly application: string;
  /** It continues itself, under the consent and the model that it began with. */
  readonly isOpen: boolean;
  readonly isWorkedOn: boolean;
  readonly workspace: string | null;
}

async function resume(given: Arguments, io: Io): Promise<number> {
  const id = given.words[0] ?? "";
  if (!given.flag("wait")) {
    return resumeNow(await withStore(io, (store) => lookAt(store, id, io)), given, io);
  }
  for (;;) {
    const past = await withStore(io, (store) => untilLetGo(store, id, io));
    if (!past.isOpen) {
      io.stderr.write(`mandate: ${past.runId} has ended. See ${io.program} show ${past.runId}\n`);
      return exitCode.done;
    }
    try {
      return await resumeNow(past, given, io);
    } catch (error) {
      // A third process recovered it first, and may have ended it.
      const { isOpen: remains, isWorkedOn } = await withStore(io, (store) => lookAt(store, id, io));
      if (remains && !isWorkedOn) throw error;
    }
  }
}

/** Looks at it until no process works on it. */
async function untilLetGo(store: Store, id: string, io: Io): Promise<Past> {
  for (;;) {
    const past = await lookAt(store, id, io);
    if (!past.isOpen || !past.isWorkedOn) return past;
    await sleep(systemClock, lookMs);
  }
}

async function resumeNow(past: Past, given: Arguments, io: Io): Promise<number> {
  const id = given.words[0] ?? "";
  const limits = {
    maxTokens: given.count("max-tokens"),
    maxCost: given.dollars("max-cost"),
    timeoutMs: given.duration("timeout"),
    session: given.text("session-id"),
  };
  const chosen = past.isOpen ? undefined : chosenPlaybook(given, io);
  const application = chosen === undefined ? past.application : applicationFor(chosen);
  const runtime = await openRuntime(given, io, application);
  try {
    if (!past.isOpen) await requireConsent(past.workspace, { given, io, runtime });
    let resumed: Awaited<ReturnType<typeof runtime.engine.resume>> | undefined;
    const work: Work = {
      runtime,
      io,
      display: displayFor(given, io),
      async begin(watch) {
        announceModel(runtime.models.defaultModel, playbookOf(application), work);
        resumed = await runtime.engine.resume(past.delegationId ?? past.runId, undefined, limits);
        work.display.say(printable(describeResumed(resumed, id)));
        for (const run of resumed.runs) await watch(run);
        return resumed;
      },
      // The last one first, as for goals: a later one may wait for one before it.
      cancels: () => resumed?.runs.map(({ runId }) => runId).reverse() ?? [],
    };
    const background = new Background(given, work);
    const outcome = await workOn({ ...work, answered: (answer) => background.answered(answer) });
    return resumed === undefined
      ? exitCode.failed
      : await reportResumed(resumed, outcome, { given, work, isPrinted: background.isPrinted });
  } finally {
    await runtime.close();
  }
}

async function lookAt(store: Store, id: string, io: Io): Promise<Past> {
  const target = await findTarget(store, id, io);
  const run = await store.readRun(target.runId);
  const named = run?.delegations.get(target.delegationId ?? "");
  return {
    ...target,
    application: run?.application ?? "",
    isOpen: named === undefined ? run?.outcome === null : isOpen(named),
    isWorkedOn: run?.outcome === null && !(await isRunInterrupted(store, run)),
    workspace: run?.workspace ?? null,
  };
}
