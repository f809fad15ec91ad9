import { MandateError } from "../../../ports/mandate-error.ts";
import type { Runtime } from "../../../runtime.ts";
import { lookBack, reportOutcome } from "../attend.ts";
import { chooseProfile, profileIn } from "../choose-profile.ts";
import type { Arguments } from "../command.ts";
import { exitCode, exitCodeOfResult } from "../exit-code.ts";
import { findFolder } from "../find-target.ts";
import { requireConsent } from "../folder-consent.ts";
import type { Io } from "../io.ts";
import { newWork } from "../offer-interrupted.ts";
import { applicationFor, chosenPlaybook, limitsOf, withRuntime } from "../open-runtime.ts";
import { printableLine, printJson } from "../printable.ts";
import { tellKept } from "../run-hints.ts";
import { type StartedRun, workOn } from "../work-on.ts";
import { printResult } from "./result.ts";

/**
 * `run --queue A --queue B`: each task is a run, and starts when the queued runs before it in the
 * folder have ended. `--goal` is the older name; its default profile is the orchestrator.
 */
export async function runQueue(given: Arguments, io: Io): Promise<number> {
  const isOldName = given.texts("goal").length > 0;
  const tasks = given.texts(isOldName ? "goal" : "queue");
  refuseBesideQueue(given, tasks);
  const workspace = findFolder(given, io);
  const playbook = chosenPlaybook(given, io);
  const own = { ...io, cwd: workspace };
  return withRuntime(given, own, applicationFor(playbook), async (runtime) => {
    await requireConsent(workspace, { given, io, runtime });
    const named = profileIn(given) ?? (isOldName ? "orchestrator" : undefined);
    const { model, note, profile } = await chooseProfile(runtime, named, { workspace, io });
    const started: StartedRun[] = [];
    const start = async (task: string): Promise<StartedRun> => {
      const run = await runtime.engine.startRun({
        task,
        profile,
        workspace,
        isGoal: true,
        isTyped: true,
        readOnly: given.flag("read-only"),
        ...limitsOf(given),
        context: given.text("context"),
        modelOverride: playbook === undefined ? given.text("model") : undefined,
      });
      started.push(run);
      return run;
    };
    const work = await newWork({
      ...{ given, io, runtime, model, playbook },
      async start(watch, display) {
        if (note !== undefined) display.say(note);
        for (const task of tasks) await watch(await start(task));
        return started.at(-1) ?? Promise.reject(new Error("The queue is empty."));
      },
    });
    if (work === "left") return exitCode.interrupted;
    // The last run first, so that none starts because the one before it was cancelled.
    const cancels = () => started.map(({ runId }) => runId).reverse();
    const outcome = await workOn({ ...work, cancels });
    if (outcome.ended !== "result") {
      const aftermath = await Promise.all(started.map((run) => lookBack(run, work)));
      const kept = aftermath.flatMap((of) => of.kept);
      return reportOutcome(outcome, given, io, { end: null, kept, cause: null });
    }
    return report(tasks, started, { given, io, runtime, isOldName });
  });
}

interface Reporting {
  readonly given: Arguments;
  readonly io: Io;
  readonly runtime: Runtime;
  readonly isOldName: boolean;
}

/** Every run has its own result; the exit code is that of the first run that failed. */
async function report(
  tasks: readonly string[],
  started: readonly StartedRun[],
  { given, io, isOldName, runtime }: Reporting,
): Promise<number> {
  const codes: number[] = [];
  const told: object[] = [];
  for (const [place, run] of started.entries()) {
    const result = await run.result;
    const { end, kept } = await lookBack(run, { runtime, io });
    const task = tasks[place] ?? "";
    codes.push(exitCodeOfResult(result, end));
    const about = { runId: run.runId, ...(end !== null && { outcome: end }) };
    told.push({ [isOldName ? "goal" : "task"]: task, ...about, ...result, keptChanges: kept });
    if (given.flag("json")) continue;
    if (tasks.length > 1) {
      const number = `Task ${place + 1} of ${tasks.length}`;
      io.stderr.write(`${number}, ${run.runId}: ${printableLine(task)}\n`);
    }
    await printResult(result, io);
    tellKept(kept, io);
  }
  if (given.flag("json")) printJson(io, { [isOldName ? "goals" : "runs"]: told });
  return codes.find((code) => code !== exitCode.done) ?? exitCode.done;
}

function refuseBesideQueue(given: Arguments, tasks: readonly string[]): void {
  if (tasks.some((task) => task.trim() === "")) {
    throw new MandateError("usage", "A --queue is empty: it needs a task.");
  }
  const others = ["plan", "watch", "queue"].filter((name) => given.text(name) !== undefined);
  const one = others.find((name) => name !== "queue" || given.texts("goal").length > 0);
  const said =
    given.words.length > 0 ? "A task" : given.flag("dry-run") ? "--dry-run" : one && `--${one}`;
  if (said === undefined) return;
  const name = given.texts("goal").length > 0 ? "--goal" : "--queue";
  throw new MandateError(
    "usage",
    `${said} cannot be given beside ${name}. Queue each task: --queue "…" --queue "…"`,
  );
}
