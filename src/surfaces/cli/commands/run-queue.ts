import type { DelegationResult } from "../../../ports/delegator.ts";
import { MandateError } from "../../../ports/mandate-error.ts";
import type { Runtime } from "../../../runtime.ts";
import { announceModel, displayFor, lookBack, reportOutcome } from "../attend.ts";
import { chooseProfile } from "../choose-profile.ts";
import type { Arguments } from "../command.ts";
import { exitCode, exitCodeOfResult } from "../exit-code.ts";
import { findFolder } from "../find-target.ts";
import { requireConsent } from "../folder-consent.ts";
import type { Io } from "../io.ts";
import { offerInterrupted, resumeBeside } from "../offer-interrupted.ts";
import { applicationFor, chosenPlaybook, openRuntime } from "../open-runtime.ts";
import { printableJson, printableLine } from "../printable.ts";
import { tellKept } from "../run-hints.ts";
import { type StartedRun, type Work, workOn } from "../work-on.ts";
import { printResult } from "./result.ts";

/** `run --goal A --goal B`: each goal a run of its own, one after the other. */
export async function runGoals(given: Arguments, io: Io): Promise<number> {
  const goals = given.texts("goal");
  refuseWhatGoalsSay(given, goals);
  const workspace = findFolder(given, io);
  const playbook = chosenPlaybook(given, io);
  const runtime = await openRuntime(given, io, applicationFor(playbook), { cwd: workspace });
  try {
    await requireConsent(workspace, { given, io, runtime });
    const name = given.text("profile") ?? "orchestrator";
    const { model, profile } = await chooseProfile(runtime, name, { workspace, io });
    const started: StartedRun[] = [];
    const display = displayFor(given, io);
    const beside = await offerInterrupted({ runtime, io, display });
    if (beside === "left") return exitCode.interrupted;
    const work: Work = {
      runtime,
      io,
      display,
      async begin(watch) {
        announceModel(model, playbook, work);
        await resumeBeside(work, watch, beside);
        for (const task of goals) {
          const run = await runtime.engine.startRun({
            task,
            profile,
            workspace,
            isGoal: true,
            isTyped: true,
            readOnly: given.flag("read-only"),
            maxTokens: given.count("max-tokens"),
            maxCost: given.dollars("max-cost"),
            timeoutMs: given.duration("timeout"),
            context: given.text("context"),
            modelOverride: playbook === undefined ? given.text("model") : undefined,
          });
          started.push(run);
          await watch(run);
        }
        return started.at(-1) ?? Promise.reject(new Error("there was no goal"));
      },
      // The last one first, so that none begins because another was cancelled.
      cancels: () => started.map(({ runId }) => runId).reverse(),
    };
    const outcome = await workOn(work);
    if (outcome.ended !== "result") {
      const aftermath = await Promise.all(started.map((run) => lookBack(run, work)));
      const kept = aftermath.flatMap((of) => of.kept);
      return reportOutcome(outcome, given, io, { end: null, kept, cause: null });
    }
    return await reportGoals(goals, started, { given, io, runtime });
  } finally {
    await runtime.close();
  }
}

interface Reporting {
  readonly given: Arguments;
  readonly io: Io;
  readonly runtime: Runtime;
}

/** Every goal has its own end; the exit code is that of the first that failed. */
async function reportGoals(
  goals: readonly string[],
  started: readonly StartedRun[],
  { given, io, runtime }: Reporting,
): Promise<number> {
  const codes: number[] = [];
  const told: object[] = [];
  for (const [place, run] of started.entries()) {
    const result: DelegationResult = await run.result;
    const { end, kept } = await lookBack(run, { runtime, io });
    const goal = goals[place] ?? "";
    codes.push(exitCodeOfResult(result, end));
    const about = { goal, runId: run.runId, ...(end !== null && { outcome: end }) };
    told.push({ ...about, ...result, keptChanges: kept });
    if (given.flag("json")) continue;
    if (goals.length > 1) {
      io.stderr.write(
        `Goal ${place + 1} of ${goals.length}, ${run.runId}: ${printableLine(goal)}\n`,
      );
    }
    printResult(result, io);
    tellKept(kept, io);
  }
  if (given.flag("json")) io.stdout.write(`${printableJson({ goals: told }, 2)}\n`);
  return codes.find((code) => code !== exitCode.done) ?? exitCode.done;
}

function refuseWhatGoalsSay(given: Arguments, goals: readonly string[]): void {
  if (goals.some((goal) => goal.trim() === "")) {
    throw new MandateError("usage", "A --goal is empty: say what is to be reached.");
  }
  const [one] = ["plan", "watch"].filter((name) => given.text(name) !== undefined);
  const said =
    given.words.length > 0 ? "A task" : given.flag("dry-run") ? "--dry-run" : one && `--${one}`;
  if (said === undefined) return;
  throw new MandateError(
    "usage",
    `${said} cannot be given beside --goal. Each goal is a task of its own: --goal "…" --goal "…"`,
  );
}
