import { basename, resolve } from "node:path";
import type { RunState } from "../../../events/run-state.ts";
import { MandateError } from "../../../ports/mandate-error.ts";
import { loadChat } from "../../tui/load-chat.ts";
import { TypedAhead } from "../../tui/typed-ahead.ts";
import { chooseProfile, profileIn, profileOptions } from "../choose-profile.ts";
import { type Arguments, anyWords, type Command, flag, text } from "../command.ts";
import { PlainDisplay } from "../display.ts";
import { exitCode } from "../exit-code.ts";
import { findFolder, findSession } from "../find-target.ts";
import { consentOptions, requireConsent } from "../folder-consent.ts";
import type { Io } from "../io.ts";
import { offerInterrupted } from "../offer-interrupted.ts";
import {
  applicationFor,
  chosenPlaybook,
  folderOption,
  openRuntime,
  playbookOf,
  readOnlyOption,
  roleOf,
  roleOption,
  runtimeOptions,
  sessionOption,
} from "../open-runtime.ts";
import { startDetached } from "../start-detached.ts";
import { withStore } from "../with-store.ts";

export const chatCommand: Command = {
  name: "chat",
  usage: "[options] [MESSAGE] | --continue [ID]",
  about:
    "Talks with an agent at this terminal, and shows its sub-agents at work. / completes commands,\n" +
    "? lists the keys, Ctrl-C interrupts, and a second Ctrl-C leaves. Before the chat begins it offers\n" +
    "to resume interrupted runs. Without a terminal, use run.",
  options: {
    ...profileOptions,
    workspace: folderOption,
    continue: flag("continue a session: this ID, or the latest of this folder"),
    "read-only": readOnlyOption,
    role: roleOption,
    "session-id": sessionOption,
    "max-tokens": text("NUMBER", "for each message, including sub-agents"),
    "max-cost": text("DOLLARS", "the same in US dollars: 2.50"),
    ...runtimeOptions,
    ...consentOptions,
  },
  words: anyWords,
  examples: [
    "chat",
    "chat -p researcher --read-only",
    "chat --continue",
    "chat --playbook helpers.yaml",
  ],
  run: chat,
};

async function chat(given: Arguments, own: Io): Promise<number> {
  requireTerminal(own);
  const { runChat } = await loadChat();
  const typed = new TypedAhead();
  try {
    return await openChat(given, typed.around(own), { runChat, typed });
  } finally {
    typed.end();
  }
}

async function openChat(
  given: Arguments,
  io: Io,
  { runChat, typed }: Awaited<ReturnType<typeof loadChat>> & { readonly typed: TypedAhead },
): Promise<number> {
  const { playbook, sessionId, workspace } = given.flag("continue")
    ? await withStore(io, (store) => findContinued(store, given, io))
    : { playbook: chosenPlaybook(given, io), sessionId: null, workspace: findFolder(given, io) };
  const role = roleOf(given);
  const place = given.text("session-id") ?? `chat-${Math.floor(io.now()).toString(36)}-${io.pid}`;
  let hear: (delegationId: string, text: string) => void = () => undefined;
  const runtime = await openRuntime(given, io, applicationFor(playbook), {
    cwd: workspace,
    onDelta: (id, text) => hear(id, text),
  });
  try {
    // Before the screen is drawn: the question is plain text.
    const mode = await requireConsent(workspace, { given, io, runtime });
    const { model, profile } = await chooseProfile(runtime, profileIn(given), {
      workspace,
      io,
      session: place,
    });
    const setting = {
      runtime,
      io,
      workspace,
      profile,
      modelNotice: noticeOf(model, playbook),
      model,
      modelOverride: playbook === undefined ? given.text("model") : undefined,
      readOnly: given.flag("read-only") || mode === "read-only",
      place,
      maxTokens: given.count("max-tokens"),
      maxCost: given.dollars("max-cost"),
      principal: { id: "local", role },
      detach: (run: Pick<RunState, "id" | "workspace">) => startDetached(run, given, io),
    };
    const display = new PlainDisplay(io);
    const beside = await offerInterrupted({ runtime, io, display });
    if (beside === "left") {
      await runtime.close();
      return exitCode.interrupted;
    }
    const code = await runChat(setting, {
      sessionId,
      beside,
      message: sessionId === null ? given.words.join(" ") : "",
      typed,
      listen: (onDelta) => {
        hear = onDelta;
      },
    });
    await runtime.close();
    return code;
  } catch (error) {
    // The first error is reported, not an error of closing after it.
    await runtime.close().catch(() => undefined);
    throw error;
  }
}

/** Redrawing needs a terminal for input and output that can move its cursor. */
function requireTerminal(io: Io): void {
  const instead = `Without one, use ${io.program} run "…", and run --continue "…" for the next message.`;
  if (io.environment["TERM"] === "dumb") {
    throw new MandateError(
      "usage",
      `chat needs a terminal that can be redrawn, and TERM is dumb. ${instead}`,
    );
  }
  if (!io.stdout.isTerminal || process.stdin.isTTY !== true) {
    throw new MandateError("usage", `chat needs a terminal for input and output. ${instead}`);
  }
}

type Store = Parameters<Parameters<typeof withStore>[1]>[0];

/** The session's own agent continues, in the folder of the session. */
async function findContinued(store: Store, given: Arguments, io: Io) {
  for (const agreed of ["profile", "max-tokens", "max-cost"]) {
    if (given.text(agreed) === undefined) continue;
    throw new MandateError(
      "usage",
      `--${agreed} was agreed when the session began. Leave it out, or start another session without --continue.`,
    );
  }
  const [id, ...more] = given.words;
  if (more.length > 0) {
    throw new MandateError("usage", `--continue takes an id and no message: type it in the chat.`);
  }
  const folder = resolve(io.cwd, given.text("workspace") ?? ".");
  const sessionId = await findSession(store, id, folder, io);
  const runId = await store.findRun(sessionId);
  if (runId === undefined) {
    throw new MandateError(
      "unknown-run",
      `There is no session ${JSON.stringify(sessionId.slice(0, 40))} here. ${io.program} sessions lists them.`,
    );
  }
  const run = await store.readRun(runId);
  const playbook = chosenPlaybook(given, io) ?? playbookOf(run?.application ?? "");
  return { playbook, sessionId, workspace: run?.workspace ?? folder };
}

/** Says that answers are scripted, so that they are not taken for those of a language model. */
function noticeOf(model: string, playbook: string | undefined): string {
  if (playbook !== undefined) return `scripted model: not a language model (${basename(playbook)})`;
  return model.startsWith("scripted/") ? "scripted model: no playbook (mandate doctor)" : "";
}
