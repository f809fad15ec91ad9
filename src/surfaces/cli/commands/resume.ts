import { isRunInterrupted } from "../../../events/is-run-interrupted.ts";
import { MandateError } from "../../../ports/mandate-error.ts";
import type { Store } from "../../../ports/store.ts";
import type { Arguments } from "../arguments.ts";
import { announceModel, attend, attendOptions, displayFor, takeUp } from "../attend.ts";
import type { Command } from "../command.ts";
import { findTarget, type Target } from "../find-target.ts";
import { consentOptions, requireConsent } from "../folder-consent.ts";
import type { Io } from "../io.ts";
import { chosenPlaybook, openRuntime, runtimeOptions } from "../open-runtime.ts";
import { applicationFor, playbookOf } from "../playbook-application.ts";
import { sessionOption } from "../speaker.ts";
import { withStore } from "../with-store.ts";
import type { StartedRun, Work } from "../work-on.ts";

export const resumeCommand: Command = {
  name: "resume",
  usage: "[options] ID",
  about:
    "Goes on with a run. One that was interrupted (its process was killed, the machine went down)\n" +
    "or paused continues where it stopped. One that was cancelled or failed continues as a new run on the old\n" +
    "conversation; the id of one of its delegations continues that one alone. It gets the tokens and\n" +
    "the time that were agreed then once more, or what you say.",
  options: {
    "session-id": sessionOption,
    "max-tokens": { type: "text", value: "NUMBER", help: "for the agent and everyone below it" },
    "max-cost": { type: "text", value: "DOLLARS", help: "the same in US dollars: 2.50" },
    timeout: { type: "text", value: "TIME", help: "for all of it: 90s, 5m, 1h" },
    ...runtimeOptions,
    ...consentOptions,
    ...attendOptions,
  },
  words: { least: 1, most: 1, needs: "the ID of a run or a delegation: see mandate ls" },
  run: resume,
};

interface Past extends Target {
  readonly application: string;
  readonly isOpen: boolean;
  readonly isSpread: boolean;
  readonly isWorkedOn: boolean;
  readonly workspace: string | null;
}

async function resume(given: Arguments, io: Io): Promise<number> {
  const id = given.words[0] ?? "";
  const past = await withStore(io, (store) => lookAt(store, id, io));
  if (past.isWorkedOn) {
    const who = past.isSpread ? "Workers work" : "Another process works";
    throw new MandateError(
      "not-resumable",
      `${who} on ${past.runId}. Watch it: ${io.program} logs ${past.runId} --follow`,
    );
  }
  const limits = {
    maxTokens: given.count("max-tokens"),
    maxCost: given.dollars("max-cost"),
    timeoutMs: given.duration("timeout"),
    session: given.text("session-id"),
  };
  if (past.isOpen) refuseWhatIsAgreed(given, past.runId);
  const chosen = chosenPlaybook(given, io);
  const application = chosen === undefined ? past.application : applicationFor(chosen);
  const playbook = playbookOf(application);
  const runtime = await openRuntime(given, io, past.isOpen ? past.application : application);
  try {
    if (past.isOpen && past.isSpread && runtime.queues === null) throw forWorkers(past, io);
    // One that has not ended continues under the consent that it began with.
    if (!past.isOpen) await requireConsent(past.workspace, { given, io, runtime });
    const work: Work = {
      runtime,
      io,
      display: displayFor(given, io),
      async begin(watch) {
        announceModel(runtime.parts.models.defaultModel, playbook, work);
        const [interrupted] = past.isOpen ? await takeUp(work, watch, past.runId) : [];
        if (interrupted) return interrupted;
        const id = past.delegationId ?? past.runId;
        const started: StartedRun = await runtime.engine.resume(id, undefined, limits);
        await watch(started);
        return started;
      },
    };
    return await attend(given, work);
  } finally {
    await runtime.close();
  }
}

/** One that has not ended goes on under its contract, which nothing changes. */
function refuseWhatIsAgreed(given: Arguments, runId: string): void {
  const one = ["max-tokens", "max-cost", "timeout"].find((name) => given.text(name) !== undefined);
  if (one === undefined) return;
  throw new MandateError(
    "usage",
    `--${one} was agreed when ${runId} began, and it has not ended. Leave it out, or cancel the run first.`,
  );
}

/** Whoever works by themselves alone can neither go on with it nor send it to anybody. */
function forWorkers({ runId }: Past, io: Io): MandateError {
  return new MandateError(
    "not-resumable",
    `Nobody works on ${runId}, which is spread over workers. Start one: ${io.program} worker`,
  );
}

async function lookAt(store: Store, id: string, io: Io): Promise<Past> {
  const target = await findTarget(store, id, io);
  const run = await store.readRun(target.runId);
  const isOpen = run?.outcome === null;
  return {
    ...target,
    application: run?.application ?? "",
    isOpen,
    isSpread: Boolean(run?.spread),
    workspace: run?.workspace ?? null,
    isWorkedOn: isOpen && !(await isRunInterrupted(store, run)),
  };
}
