import { MandateError } from "../../../ports/mandate-error.ts";
import type { Runtime } from "../../../runtime.ts";
import type { Arguments } from "../arguments.ts";
import { announceModel, attend, attendOptions, displayFor } from "../attend.ts";
import { backgroundOf, backgroundOption } from "../background.ts";
import { chooseProfile } from "../choose-profile.ts";
import type { Command } from "../command.ts";
import { describeReceipt, reductions } from "../describe-contract.ts";
import type { Display } from "../display.ts";
import { exitCode } from "../exit-code.ts";
import { consentOptions, requireConsent } from "../folder-consent.ts";
import type { Io } from "../io.ts";
import { offerInterrupted } from "../offer-interrupted.ts";
import { chosenPlaybook, openRuntime, runtimeOptions } from "../open-runtime.ts";
import { applicationFor } from "../playbook-application.ts";
import { resumeBeside } from "../resume-runs.ts";
import { findFolder } from "../run-folder.ts";
import { sessionOption } from "../speaker.ts";
import type { StartedRun, Work } from "../work-on.ts";

export const runCommand: Command = {
  name: "run",
  usage: '[options] "TASK"',
  about:
    "Gives a task to an agent and works on it to the end. The answer goes to standard output as soon\n" +
    "as it is there; then run waits for sub-agents that the agent left in the background. Progress\n" +
    "goes to standard error. Ctrl-C cancels (and the run can be resumed); a second one leaves at\n" +
    "once. Interrupted runs of earlier are left alone: at a terminal it offers to resume them first,\n" +
    "otherwise it names them.",
  options: {
    profile: {
      type: "text",
      value: "NAME",
      short: "p",
      help: "who does it, or @handle (what is pinned, or general)",
    },
    context: { type: "text", value: "TEXT", help: "what the agent needs to know besides the task" },
    workspace: {
      type: "text",
      value: "DIR",
      short: "C",
      help: "the folder it works in (this one)",
    },
    continue: {
      type: "flag",
      help: "go on with a session: run --continue [ID] MESSAGE (the latest one of this folder)",
    },
    goal: {
      type: "text",
      value: "GOAL",
      help: "in place of a task, and as often as you like: one after the other (orchestrator)",
    },
    plan: { type: "text", value: "FILE", help: "the steps of a file, in place of a task" },
    "dry-run": { type: "flag", help: "with --plan: show what would run, and start nothing" },
    watch: { type: "text", value: "PROFILE", help: "a watcher that looks on, such as pair" },
    "read-only": { type: "flag", help: "nobody may write in the workspace, at any depth" },
    "session-id": sessionOption,
    "max-tokens": { type: "text", value: "NUMBER", help: "for the agent and everyone below it" },
    "max-cost": { type: "text", value: "DOLLARS", help: "the same in US dollars: 2.50" },
    timeout: { type: "text", value: "TIME", help: "for all of it: 90s, 5m, 1h" },
    ...runtimeOptions,
    background: backgroundOption,
    ...consentOptions,
    ...attendOptions,
  },
  words: { least: 0, most: Number.POSITIVE_INFINITY },
  examples: [
    'run "Which of our modules have no tests?"',
    'run -p researcher --read-only "Compare the two parsers in src"',
    'run --playbook helpers.yaml "Count the files"',
    'run --continue "And now their lines"',
    'run --background detach "Start the survey, and tell me what to expect"',
    'run --goal "A login page" --goal "A page for lost passwords"',
    "run --plan login.yaml --dry-run",
  ],
  run,
};

async function run(given: Arguments, io: Io): Promise<number> {
  if (backgroundOf(given) !== "wait" && (given.texts("goal").length > 0 || given.text("plan"))) {
    throw new MandateError("usage", "--background is for a task: --goal and --plan wait for all.");
  }
  if (given.flag("continue")) {
    const { continueRun } = await import("../sessions/continue-run.ts");
    return continueRun(given, io);
  }
  if (given.texts("goal").length > 0) {
    const { runGoals } = await import("../plans/run-goals.ts");
    return runGoals(given, io);
  }
  if (given.text("plan") !== undefined) {
    const { runPlan } = await import("../plans/run-plan.ts");
    return runPlan(given, io);
  }
  if (given.flag("dry-run")) {
    throw new MandateError("usage", "--dry-run shows the schedule of a plan: give --plan FILE.");
  }
  const task = given.words.join(" ");
  if (task.trim() === "") {
    throw new MandateError(
      "task-required",
      `A run needs a task: ${io.program} run "what is to be done"`,
    );
  }
  const workspace = findFolder(given, io);
  const limits = {
    maxTokens: given.count("max-tokens"),
    maxCost: given.dollars("max-cost"),
    timeoutMs: given.duration("timeout"),
  };
  const playbook = chosenPlaybook(given, io);
  const readOnly = given.flag("read-only");
  const session = given.text("session-id");
  const runtime = await openRuntime(given, io, applicationFor(playbook), { cwd: workspace });
  try {
    await requireConsent(workspace, { given, io, runtime });
    const { model, profile, note } = await chooseProfile(runtime, given.text("profile"), {
      workspace,
      io,
      session,
    });
    const display = displayFor(given, io);
    const beside = await offerInterrupted({ runtime, io, display });
    if (beside === "left") return exitCode.interrupted;
    const work: Work = {
      runtime,
      io,
      display,
      async begin(watch) {
        announceModel(model, playbook, work);
        if (note !== undefined) work.display.say(note);
        await resumeBeside(work, watch, beside);
        const started = await runtime.engine.startRun({
          task,
          isTyped: true,
          profile,
          workspace,
          readOnly,
          session,
          ...limits,
          context: given.text("context"),
          watchers: given.text("watch")?.split(","),
          modelOverride: playbook === undefined ? given.text("model") : undefined,
        });
        await sayReductions(runtime, started, work.display);
        await watch(started);
        return started;
      },
    };
    return await attend(given, work);
  } finally {
    await runtime.close();
  }
}

async function sayReductions({ store }: Runtime, run: StartedRun, display: Display): Promise<void> {
  for await (const event of store.readEvents({ delegationId: run.delegationId })) {
    if (event.type !== "agent.subagent_created") continue;
    for (const line of reductions(event.payload.receipt ?? [])) {
      // A profile names tools that are not there yet; nobody asked for those here.
      if (line.field !== "tools") display.say(`${line.field}: ${describeReceipt(line)}`);
    }
    return;
  }
}
