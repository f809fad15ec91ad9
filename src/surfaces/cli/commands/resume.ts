import { describeResumed } from "../../../application/commands/describe-run.ts";
import { resumeAny } from "../../../application/workflow-runs.ts";
import type { RunOutcome } from "../../../events/close-reason.ts";
import { isOpen } from "../../../events/delegation.ts";
import { isRunInterrupted } from "../../../events/is-worked-on.ts";
import { sleep, systemClock } from "../../../ports/clock.ts";
import type { DelegationResult } from "../../../ports/delegator.ts";
import type { Store } from "../../../ports/store.ts";
import { resultOf } from "../../../sessions/delegation-result.ts";
import {
  type Aftermath,
  announceModel,
  attendOptions,
  Background,
  displayFor,
  lookBack,
  reportOutcome,
} from "../attend.ts";
import { type Arguments, type Command, flag, jsonOption, text } from "../command.ts";
import { exitCode, exitCodeOfResult } from "../exit-code.ts";
import { findTarget, type Target } from "../find-target.ts";
import { consentOptions, requireConsent } from "../folder-consent.ts";
import type { Io } from "../io.ts";
import {
  applicationFor,
  chosenPlaybook,
  limitOptions,
  limitsOf,
  ordinaryApplication,
  playbookOf,
  runtimeOptions,
  sessionOption,
  withRuntime,
} from "../open-runtime.ts";
import { printable, printableLine, printJson } from "../printable.ts";
import { tellKept } from "../run-hints.ts";
import { withStore } from "../with-store.ts";
import { type Work, type WorkOutcome, workOn } from "../work-on.ts";
import { printResult } from "./result.ts";

export const resumeCommand: Command = {
  name: "resume",
  usage: "[options] ID",
  about:
    "Resumes a run. A paused or interrupted run (its process was killed, the machine went down)\n" +
    "continues where it stopped. A cancelled or failed run continues as a new run on the old\n" +
    "conversation; the id of one of its delegations continues that delegation alone. The new run gets\n" +
    "the old budget and time once more, or the given ones. For a session of another program's agent,\n" +
    "every sub-agent that did not complete is resumed.",
  options: {
    "session-id": sessionOption,
    ...limitOptions,
    wait: flag("wait until the process that works on it now has released it"),
    ...runtimeOptions,
    ...consentOptions,
    ...attendOptions,
  },
  words: { least: 1, most: 1, needs: "the ID of a run or a delegation: see mandate ls" },
  run: resume,
};

/** How often a run of another process is polled. */
const lookMs = 200;

interface Past extends Target {
  readonly application: string;
  /** An open run continues itself, with the consent and the model that it began with. */
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
    const past = await withStore(io, (store) => untilReleased(store, id, io));
    if (!past.isOpen) {
      io.stderr.write(`mandate: ${past.runId} has ended. See ${io.program} show ${past.runId}\n`);
      return exitCode.done;
    }
    try {
      return await resumeNow(past, given, io);
    } catch (error) {
      // Another process may have recovered the run first, and ended it.
      const { isOpen: remains, isWorkedOn } = await withStore(io, (store) => lookAt(store, id, io));
      if (remains && !isWorkedOn) throw error;
    }
  }
}

/** Polls until no process works on the run. */
async function untilReleased(store: Store, id: string, io: Io): Promise<Past> {
  for (;;) {
    const past = await lookAt(store, id, io);
    if (!past.isOpen || !past.isWorkedOn) return past;
    await sleep(systemClock, lookMs);
  }
}

async function resumeNow(past: Past, given: Arguments, io: Io): Promise<number> {
  const id = given.words[0] ?? "";
  const limits = {
    ...limitsOf(given),
    session: given.text("session-id"),
  };
  const chosen = past.isOpen ? undefined : chosenPlaybook(given, io);
  const application = chosen === undefined ? past.application : applicationFor(chosen);
  return withRuntime(given, io, application, async (runtime) => {
    if (!past.isOpen) await requireConsent(past.workspace, { given, io, runtime });
    let resumed: Awaited<ReturnType<typeof runtime.engine.resume>> | undefined;
    const work: Work = {
      runtime,
      io,
      display: displayFor(given, io),
      async begin(watch) {
        announceModel(runtime.models.defaultModel, playbookOf(application), work);
        resumed = await resumeAny(runtime, past.delegationId ?? past.runId, { limits });
        work.display.say(printable(describeResumed(resumed, id)));
        for (const run of resumed.runs) await watch(run);
        return resumed;
      },
      // The last run first: a later one may wait for an earlier one.
      cancels: () => resumed?.runs.map(({ runId }) => runId).reverse() ?? [],
    };
    const background = new Background(given, work);
    const outcome = await workOn({ ...work, answered: (answer) => background.answered(answer) });
    return resumed === undefined
      ? exitCode.failed
      : await reportResumed(resumed, outcome, { given, work, isPrinted: background.isPrinted });
  });
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

type Resumed = Awaited<ReturnType<Work["runtime"]["engine"]["resume"]>>;

interface AgentResult {
  readonly runId: string;
  readonly title: string;
  /** Null: not ended. */
  readonly result: DelegationResult | null;
  /** The outcome of the run, where the agent is its root. */
  readonly end: RunOutcome | null;
}

/** Prints the outcome of a resumption, and gives the exit code. */
export async function reportResumed(
  resumed: Resumed,
  outcome: WorkOutcome,
  { given, isPrinted, work }: { given: Arguments; work: Work; isPrinted: boolean },
): Promise<number> {
  const { runs } = resumed;
  const aftermath = await Promise.all(runs.map((run) => lookBack(run, work)));
  const kept = aftermath.flatMap((of) => of.kept);
  const isOfRoots = runs.every(({ agents, delegationId }) => agents.includes(delegationId));
  const [first] = aftermath;
  if (outcome.ended !== "result" || (runs.length === 1 && isOfRoots)) {
    const { cause = null, end = null } = first ?? {};
    return reportOutcome(outcome, given, work.io, { end, kept, cause, isPrinted });
  }
  return reportAgents(await resultsOf(resumed, aftermath, work), kept, given, work);
}

async function resultsOf(
  { runs }: Resumed,
  aftermath: readonly Aftermath[],
  { runtime: { store } }: Work,
): Promise<readonly AgentResult[]> {
  const found: AgentResult[] = [];
  for (const [index, { agents, delegationId, runId }] of runs.entries()) {
    const state = await store.readRun(runId);
    for (const id of agents) {
      const title = `${state?.delegations.get(id)?.profile} ${id}`;
      const result = state ? resultOf(state, id) : null;
      const end = id === delegationId ? (aftermath[index]?.end ?? null) : null;
      found.push({ runId, title, result, end });
    }
  }
  return found;
}

/** Each agent has its own result; the exit code is that of the first that did not complete. */
async function reportAgents(
  results: readonly AgentResult[],
  kept: readonly string[],
  given: Arguments,
  { io }: Work,
): Promise<number> {
  if (given.flag("json")) {
    const told = results.map(({ end, result, runId }) => ({
      runId,
      ...(end !== null && { outcome: end }),
      ...result,
    }));
    printJson(io, { results: told, keptChanges: kept });
  } else {
    for (const [index, { result, runId, title }] of results.entries()) {
      io.stderr.write(
        `Sub-agent ${index + 1} of ${results.length}, ${printableLine(title)} in ${runId}:\n`,
      );
      if (result !== null) await printResult(result, io);
    }
    tellKept(kept, io);
  }
  const codes = results.map(({ end, result }) =>
    result === null ? exitCode.failed : exitCodeOfResult(result, end),
  );
  return codes.find((code) => code !== exitCode.done) ?? exitCode.done;
}

export const cancelCommand: Command = {
  name: "cancel",
  usage: "[options] ID",
  about:
    "Cancels a run or a delegation and everything below it, whichever process works on it. Cancelling\n" +
    "an ended one changes nothing. A cancelled one can be resumed.",
  options: {
    json: jsonOption,
    reason: text("TEXT", "why, for the log"),
  },
  words: { least: 1, most: 1, needs: "the ID of a run or a delegation: see mandate ls" },
  run: cancel,
};

async function cancel(given: Arguments, io: Io): Promise<number> {
  return withRuntime(given, io, ordinaryApplication, async (runtime) => {
    const { runId, delegationId } = await findTarget(runtime.store, given.words[0], io);
    const id = delegationId ?? runId;
    const outcome = await runtime.engine.cancel(
      id,
      given.text("reason") ?? "cancelled from the command line",
    );
    if (given.flag("json")) printJson(io, { id, outcome });
    else if (outcome === "cancelled") {
      io.stdout.write(`Cancelled ${id}. Resume: ${io.program} resume ${id}\n`);
    } else io.stdout.write(`${id} had ended already; nothing was changed.\n`);
    return exitCode.done;
  });
}
