import { basename, relative, resolve } from "node:path";
import { type PlanFile, readPlanFile } from "../../../application/plan-files.ts";
import { MandateError } from "../../../ports/mandate-error.ts";
import type { Runtime } from "../../../runtime.ts";
import { countOf } from "../amounts.ts";
import { lookBack, reportOutcome } from "../attend.ts";
import type { Arguments } from "../command.ts";
import { shorten } from "../display-width.ts";
import { exitCode } from "../exit-code.ts";
import { findFolder } from "../find-target.ts";
import { requireConsent } from "../folder-consent.ts";
import type { Io } from "../io.ts";
import { newWork } from "../offer-interrupted.ts";
import { applicationFor, chosenPlaybook, limitsOf, withRuntime } from "../open-runtime.ts";
import { printable, printableLine, printJson } from "../printable.ts";
import { tellKept } from "../run-hints.ts";
import { styleFor } from "../style.ts";
import { type WorkOutcome, workOn } from "../work-on.ts";

/** The shipped profile that runs plans; its model is a program and no language model. */
const runner = "plan-runner";

/** `run --plan FILE`: the steps of a file, without an agent that plans. */
export async function runPlan(given: Arguments, io: Io): Promise<number> {
  refuseBesidePlan(given);
  const workspace = findFolder(given, io);
  const playbook = chosenPlaybook(given, io);
  const own = { ...io, cwd: workspace };
  return withRuntime(given, own, applicationFor(playbook), async (runtime) => {
    const file = resolve(io.cwd, given.text("plan") ?? "");
    const read = await readPlan(file, runtime, io);
    if (given.flag("dry-run")) return printSchedule(read, given, io);
    requireRunner(runtime);
    runtime.engine.requireModel(read.plan.steps.map(({ profile }) => profile));
    await requireConsent(workspace, { given, io, runtime });
    const model = runtime.models.defaultModel;
    const steps = countOf(read.plan.steps.length, "step");
    const work = await newWork({
      ...{ given, io, runtime, model, playbook },
      async start(watch, display) {
        display.say(`${basename(file)}: ${steps} in ${countOf(read.waves.length, "wave")}`);
        // A plan can be larger than a prompt may be: it is stored, and the run gets its hash.
        const { hash } = await runtime.store.keepArtifact(read.text);
        const started = await runtime.engine.startRun({
          task: taskFor(read, file, steps),
          context: `plan ${hash}`,
          profile: runner,
          workspace,
          readOnly: given.flag("read-only"),
          ...limitsOf(given),
        });
        await watch(started);
        return started;
      },
    });
    if (work === "left") return exitCode.interrupted;
    const outcome = await workOn(work);
    const report = given.flag("json") ? undefined : await reportOnFailure(outcome, runtime);
    const aftermath = await lookBack(outcome.run, work);
    if (report === undefined) return reportOutcome(outcome, given, io, aftermath);
    io.stdout.write(`${io.stdout.isTerminal ? printable(report) : report}\n`);
    const { runId } = outcome.run;
    io.stderr.write(
      `mandate: the plan was not completed. See ${io.program} tree ${runId}. Resume: ${io.program} resume ${runId}\n`,
    );
    tellKept(aftermath.kept, io);
    return exitCode.failed;
  });
}

function taskFor({ plan }: PlanFile, file: string, steps: string): string {
  const source = `plan ${basename(file)}, ${steps}`;
  const goal = shorten(printableLine(plan.goal ?? ""), 200);
  return goal === "" ? `Run the ${source}` : `${goal} (${source})`;
}

/** Errors name the file as a person would type it. */
async function readPlan(file: string, runtime: Runtime, io: Io): Promise<PlanFile> {
  const { config, control, profiles } = runtime;
  await control.view.refresh(true);
  const shown = relative(io.cwd, file);
  try {
    return readPlanFile(file, {
      profiles,
      behind: (handle) => control.view.entry(handle)?.profileId,
      maxChildren: config.limits.maxChildren,
    });
  } catch (error) {
    if (!(error instanceof MandateError) || shown.startsWith("..")) throw error;
    throw new MandateError(error.code, error.message.replaceAll(file, shown), { cause: error });
  }
}

/** Options that would repeat or contradict the plan. */
function refuseBesidePlan(given: Arguments): void {
  const [one] = ["profile", "context"].filter((name) => given.text(name) !== undefined);
  const said = given.words.length > 0 ? "A task" : one === undefined ? undefined : `--${one}`;
  if (said === undefined) return;
  throw new MandateError(
    "usage",
    `${said} cannot be given beside --plan: the plan says who does what. Write it into the plan, or leave out --plan.`,
  );
}

/** Another profile of that name would be a language model that gets a hash instead of a plan. */
function requireRunner({ profiles }: Runtime): void {
  const profile = profiles.get(runner);
  if (profile?.model?.model === "mandate/plan") return;
  const origin = profile?.origin ?? profiles.problemOf(runner)?.file ?? "nowhere";
  throw new MandateError(
    "profile-invalid",
    `Plans are run by the shipped profile "${runner}", and here that is another one (${origin}). Give that file another name.`,
  );
}

/** The report on a plan that was not completed, for standard output like that of a completed one. */
async function reportOnFailure(
  outcome: WorkOutcome,
  { store }: Runtime,
): Promise<string | undefined> {
  if (outcome.ended !== "result" || outcome.result.closeReason !== "exit_rule_unmet")
    return undefined;
  const { delegationId, runId } = outcome.run;
  const root = (await store.readRun(runId))?.delegations.get(delegationId);
  return root?.status === "closed" ? root.output?.text : undefined;
}

/** Prints the steps of a plan in their order, and starts nothing. */
function printSchedule({ plan, waits, waves }: PlanFile, given: Arguments, io: Io): number {
  const idOf = (place: number): string => plan.steps[place]?.id ?? "";
  const stepsOf = (wave: readonly number[]) =>
    wave.flatMap((place) => {
      const step = plan.steps[place];
      if (step === undefined) return [];
      const { dependsOn, id, owns, profile, reviewer, title } = step;
      return { id, title, profile, depends_on: dependsOn.map(idOf), owns, reviewer };
    });
  if (given.flag("json")) {
    const { approval, goal } = plan;
    const schedule = {
      goal,
      approval,
      waves: waves.map(stepsOf),
      waits: waits.map(({ behind, place }) => ({ step: idOf(place), for: idOf(behind) })),
    };
    printJson(io, schedule);
    return exitCode.done;
  }
  const { paint } = styleFor(io.stdout, io);
  if (plan.goal !== null) io.stdout.write(`${printableLine(plan.goal)}\n`);
  for (const [index, wave] of waves.entries()) {
    io.stdout.write(`${paint.strong(`${index + 1}.`)}\n`);
    for (const { depends_on, id, owns, profile, reviewer, title } of stepsOf(wave)) {
      const notes = [
        ...(depends_on.length > 0 ? [`after ${depends_on.join(", ")}`] : []),
        ...(owns.length > 0 ? [`owns ${owns.join(", ")}`] : []),
        ...(reviewer === null ? [] : [`reviewed by ${reviewer}`]),
      ];
      const line = [`${id}: ${title} [${profile}]`, ...notes].join("; ");
      io.stdout.write(`  ${printableLine(line)}\n`);
    }
  }
  for (const { behind, place } of waits) {
    io.stderr.write(
      `${idOf(place)} waits for ${idOf(behind)}: both could change the same paths. To run them in parallel, give each its paths in owns.\n`,
    );
  }
  const steps = countOf(plan.steps.length, "step");
  const approval = plan.approval ? "; a person is asked before it begins" : "";
  io.stderr.write(
    `${steps} in ${countOf(waves.length, "wave")}${approval}. Nothing was started.\n`,
  );
  return exitCode.done;
}
