import { resolve } from "node:path";
import { MandateError } from "../../../ports/mandate-error.ts";
import type { Store } from "../../../ports/store.ts";
import type { Runtime } from "../../../runtime.ts";
import { attend, attendOptions, backgroundOf, backgroundOption } from "../attend.ts";
import { chooseProfile, profileIn, profileOptions } from "../choose-profile.ts";
import { type Arguments, anyWords, type Command, flag, text } from "../command.ts";
import { describeReceipt, reductions } from "../describe-delegation.ts";
import type { Display } from "../display.ts";
import { exitCode } from "../exit-code.ts";
import { findFolder, findSession } from "../find-target.ts";
import { consentOptions, requireConsent } from "../folder-consent.ts";
import type { Io } from "../io.ts";
import { newWork } from "../offer-interrupted.ts";
import {
  applicationFor,
  chosenPlaybook,
  folderOption,
  limitOptions,
  limitsOf,
  playbookOf,
  readOnlyOption,
  runtimeOptions,
  sessionOption,
  withRuntime,
} from "../open-runtime.ts";
import { withStore } from "../with-store.ts";
import type { StartedRun } from "../work-on.ts";

export const runCommand: Command = {
  name: "run",
  usage: '[options] "TASK"',
  about:
    "Gives a task to an agent and works on it to the end. The answer goes to standard output as soon\n" +
    "as it is there; then run waits for sub-agents that the agent left in the background. Progress\n" +
    "goes to standard error. Ctrl-C cancels (the run can be resumed); a second Ctrl-C leaves at once.\n" +
    "Earlier runs that were interrupted are not resumed unasked: at a terminal run offers to resume\n" +
    "them first, elsewhere it names them.",
  options: {
    ...profileOptions,
    context: text("TEXT", "what the agent needs to know in addition to the task"),
    workspace: folderOption,
    continue: flag(
      "continue a session: run --continue [ID] MESSAGE (default: latest of this folder)",
    ),
    queue: text("TASK", "task to queue; repeatable, run in order, one at a time in this folder"),
    goal: { ...text("TASK", "the older name of --queue"), isAlias: true },
    plan: text("FILE", "run the steps of a file instead of a task"),
    "dry-run": flag("with --plan: show what would run, and start nothing"),
    watch: text("PROFILE", "add a watcher, such as pair"),
    "read-only": readOnlyOption,
    "session-id": sessionOption,
    ...limitOptions,
    ...runtimeOptions,
    background: backgroundOption,
    ...consentOptions,
    ...attendOptions,
  },
  words: anyWords,
  examples: [
    'run "Which of our modules have no tests?"',
    'run -p researcher --read-only "Compare the two parsers in src"',
    'run --agent claude-code --max-cost 2 "Fix the failing test"',
    'run --playbook helpers.yaml "Count the files"',
    'run --continue "And now their lines"',
    'run --background detach "Start the survey, and tell me what to expect"',
    'run --queue "Add a login page" --queue "Add a page for lost passwords"',
    "run --plan login.yaml --dry-run",
  ],
  run,
};

async function run(given: Arguments, io: Io): Promise<number> {
  const isQueue = ["queue", "goal"].some((name) => given.texts(name).length > 0);
  if (backgroundOf(given) !== "wait" && (isQueue || given.text("plan"))) {
    throw new MandateError("usage", "--background is for a task: --queue and --plan wait for all.");
  }
  if (given.flag("continue")) return continueRun(given, io);
  if (isQueue) {
    const { runQueue } = await import("./run-queue.ts");
    return runQueue(given, io);
  }
  if (given.text("plan") !== undefined) {
    const { runPlan } = await import("./run-plan.ts");
    return runPlan(given, io);
  }
  if (given.flag("dry-run")) {
    throw new MandateError("usage", "--dry-run shows the schedule of a plan: give --plan FILE.");
  }
  return runTask(given, io);
}

async function runTask(given: Arguments, io: Io): Promise<number> {
  const task = given.words.join(" ");
  if (task.trim() === "") {
    throw new MandateError(
      "task-required",
      `A run needs a task: ${io.program} run "what is to be done"`,
    );
  }
  const workspace = findFolder(given, io);
  const limits = limitsOf(given);
  const playbook = chosenPlaybook(given, io);
  const session = given.text("session-id");
  const own = { ...io, cwd: workspace };
  return withRuntime(given, own, applicationFor(playbook), async (runtime) => {
    await requireConsent(workspace, { given, io, runtime });
    const where = { workspace, io, session };
    const { model, note, profile } = await chooseProfile(runtime, profileIn(given), where);
    const work = await newWork({
      ...{ given, io, runtime, model, playbook },
      async start(watch, display) {
        if (note !== undefined) display.say(note);
        const started = await runtime.engine.startRun({
          task,
          isTyped: true,
          profile,
          workspace,
          readOnly: given.flag("read-only"),
          session,
          ...limits,
          context: given.text("context"),
          watchers: given.text("watch")?.split(","),
          modelOverride: playbook === undefined ? given.text("model") : undefined,
        });
        await sayReductions(runtime, started, display);
        await watch(started);
        return started;
      },
    });
    return work === "left" ? exitCode.interrupted : attend(given, work);
  });
}

async function sayReductions({ store }: Runtime, run: StartedRun, display: Display): Promise<void> {
  for await (const event of store.readEvents({ delegationId: run.delegationId })) {
    if (event.type !== "agent.subagent_created") continue;
    for (const line of reductions(event.payload.receipt ?? [])) {
      // A profile may name tools that do not exist yet; the person did not ask for them here.
      if (line.field !== "tools") display.say(`${line.field}: ${describeReceipt(line)}`);
    }
    return;
  }
}

interface Continued {
  readonly sessionId: string;
  readonly message: string;
  /** A scripted session stays scripted, unless another playbook was asked for. */
  readonly playbook: string | undefined;
  readonly workspace: string | null;
}

/** `run --continue`: the next message of a session, in a new run on the conversation so far. */
async function continueRun(given: Arguments, io: Io): Promise<number> {
  refuseWhatIsAgreed(given);
  const { message, playbook, sessionId, workspace } = await withStore(io, (store) =>
    understand(store, given, io),
  );
  const own = { ...io, cwd: workspace ?? io.cwd };
  return withRuntime(given, own, applicationFor(playbook), async (runtime) => {
    await requireConsent(workspace, { given, io, runtime });
    const model = runtime.models.defaultModel;
    const except = await runtime.store.findRun(sessionId);
    const work = await newWork({
      ...{ given, io, runtime, model, playbook, except },
      async start(watch) {
        const readOnly = given.flag("read-only");
        const limits = { isTyped: true, readOnly, session: given.text("session-id") };
        const started = await runtime.engine.continueSession(sessionId, message, limits);
        await watch(started);
        return started;
      },
    });
    return work === "left" ? exitCode.interrupted : attend(given, work);
  });
}

/** The profile and the limits of a session are fixed when it begins. */
function refuseWhatIsAgreed(given: Arguments): void {
  const agreed = ["profile", "agent", "context", "max-tokens", "max-cost", "timeout"];
  const one = agreed.find((name) => given.text(name) !== undefined);
  if (one === undefined) return;
  throw new MandateError(
    "usage",
    `--${one} was agreed when the session began, and stays as it was. Leave it out, or start another session without --continue.`,
  );
}

/** The first word is the session's id if there is such a session, and part of the message if not. */
async function understand(store: Store, given: Arguments, io: Io): Promise<Continued> {
  const [first = "", ...rest] = given.words;
  const isId = await isSession(store, first);
  // A mistyped id must not become a message to whatever session was the latest.
  if (!isId && looksLikeId(first)) {
    throw new MandateError(
      "unknown-run",
      `There is no session ${first} here. ${io.program} sessions lists what can be continued. If it is part of your message: put the whole message in quotes.`,
    );
  }
  const message = (isId ? rest : given.words).join(" ");
  if (message.trim() === "") {
    throw new MandateError(
      "task-required",
      `A session continues with a message: ${io.program} run --continue ${isId ? first : "[ID]"} "what is to be done next"`,
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
