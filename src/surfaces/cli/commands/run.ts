import { resolve } from "node:path";
import { MandateError } from "../../../ports/mandate-error.ts";
import type { Store } from "../../../ports/store.ts";
import type { Runtime } from "../../../runtime.ts";
import {
  announceModel,
  attend,
  attendOptions,
  backgroundOf,
  backgroundOption,
  displayFor,
} from "../attend.ts";
import { chooseProfile } from "../choose-profile.ts";
import type { Arguments, Command } from "../command.ts";
import { describeReceipt, reductions } from "../describe-delegation.ts";
import type { Display } from "../display.ts";
import { exitCode } from "../exit-code.ts";
import { findFolder, findSession } from "../find-target.ts";
import { consentOptions, requireConsent } from "../folder-consent.ts";
import type { Io } from "../io.ts";
import { offerInterrupted, resumeBeside } from "../offer-interrupted.ts";
import {
  applicationFor,
  chosenPlaybook,
  openRuntime,
  playbookOf,
  runtimeOptions,
  sessionOption,
} from "../open-runtime.ts";
import { withStore } from "../with-store.ts";
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
    return continueRun(given, io);
  }
  if (given.texts("goal").length > 0) {
    const { runGoals } = await import("./run-queue.ts");
    return runGoals(given, io);
  }
  if (given.text("plan") !== undefined) {
    const { runPlan } = await import("./run-plan.ts");
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

interface Continued {
  readonly sessionId: string;
  readonly message: string;
  /** Scripted words go on as such, unless another playbook was asked for. */
  readonly playbook: string | undefined;
  readonly workspace: string | null;
}

/** `run --continue`: the next message of a session, in a new run on the conversation so far. */
export async function continueRun(given: Arguments, io: Io): Promise<number> {
  refuseWhatIsAgreed(given);
  const { message, playbook, sessionId, workspace } = await withStore(io, (store) =>
    understand(store, given, io),
  );
  const cwd = workspace ?? io.cwd;
  const readOnly = given.flag("read-only");
  const runtime = await openRuntime(given, io, applicationFor(playbook), { cwd });
  try {
    await requireConsent(workspace, { given, io, runtime });
    const display = displayFor(given, io);
    const except = await runtime.store.findRun(sessionId);
    const beside = await offerInterrupted({ runtime, io, display, except });
    if (beside === "left") return exitCode.interrupted;
    const work: Work = {
      runtime,
      io,
      display,
      async begin(watch) {
        announceModel(runtime.models.defaultModel, playbook, work);
        await resumeBeside(work, watch, beside);
        const limits = { isTyped: true, readOnly, session: given.text("session-id") };
        const started = await runtime.engine.continueSession(sessionId, message, limits);
        await watch(started);
        return started;
      },
    };
    return await attend(given, work);
  } finally {
    await runtime.close();
  }
}

/** Who it is and what it may do was agreed when the session began. */
function refuseWhatIsAgreed(given: Arguments): void {
  const agreed = ["profile", "context", "max-tokens", "max-cost", "timeout"];
  const one = agreed.find((name) => given.text(name) !== undefined);
  if (one === undefined) return;
  throw new MandateError(
    "usage",
    `--${one} was agreed when the session began, and goes on as it was. Leave it out, or start another session without --continue.`,
  );
}

/** The first word is the session if there is one of that name, and part of the message if not. */
async function understand(store: Store, given: Arguments, io: Io): Promise<Continued> {
  const [first = "", ...rest] = given.words;
  const isId = await isSession(store, first);
  // A mistyped id must not become a message to whatever session was the latest.
  if (!isId && looksLikeId(first)) {
    throw new MandateError(
      "unknown-run",
      `There is no session ${first} here. ${io.program} sessions lists what can be continued. If it is what you say: put all of it in quotes.`,
    );
  }
  const message = (isId ? rest : given.words).join(" ");
  if (message.trim() === "") {
    throw new MandateError(
      "task-required",
      `A session goes on with a message: ${io.program} run --continue ${isId ? first : "[ID]"} "what is to be done next"`,
    );
  }
  const folder = resolve(io.cwd, given.text("workspace") ?? ".");
  const sessionId = await findSession(store, isId ? first : undefined, folder, io);
  const run = await store.readRun((await store.findRun(sessionId)) ?? "");
  const playbook = chosenPlaybook(given, io) ?? playbookOf(run?.application ?? "");
  return { sessionId, message, playbook, workspace: run?.workspace ?? null };
}

/** No word of a language: there are some with six letters from a to f, and none with digits. */
function looksLikeId(word: string): boolean {
  return /^(?:r[0-9a-f]{6,8}|(?=.*\d)[0-9a-f]{6}(?:[0-9a-f]{2})?)$/.test(word);
}

async function isSession(store: Store, word: string): Promise<boolean> {
  if (!/^r?[0-9a-f]{6,8}$/.test(word)) return false;
  return (await store.findRun(word)) !== undefined;
}
