import { basename } from "node:path";
import { hotkeysOf } from "../../commands/hotkeys-of.ts";
import { exitCode } from "../cli/exit-code.ts";
import type { Io, StopSignal } from "../cli/io.ts";
import { styleFor } from "../cli/style.ts";
import { ChatDriver } from "./chat-driver.ts";
import type { ChatSetting } from "./chat-setting.ts";
import { openChatState } from "./chat-state.ts";
import { ChatStore } from "./chat-store.ts";
import { usableHotkeys } from "./keys.ts";
import { PanelScreen } from "./panel-screen.ts";

export interface ChatBeginning {
  /** To go on with; null: a new one. */
  readonly sessionId: string | null;
  /** What is said first. */
  readonly message: string;
  /** Deltas arrive here before there is somebody to show them. */
  readonly listen: (onDelta: NonNullable<Deltas>) => void;
}

type Deltas = (delegationId: string, text: string) => void;

/** The chat, from the first frame to the last word. Gives the exit code. */
export async function runChat(
  setting: ChatSetting,
  { listen, message, sessionId }: ChatBeginning,
): Promise<number> {
  const { io, modelNotice, profile, runtime, workspace } = setting;
  const [{ render }, { createElement }, { ChatApp }] = await loadScreen();
  const style = styleFor(io.stdout, io);
  const store = new ChatStore(
    openChatState({
      columns: io.stdout.columns,
      rows: io.stdout.rows,
      now: io.now(),
      session: { id: null, title: "", profile, modelNotice },
      hotkeys: usableHotkeys(hotkeysOf(runtime.profiles.all()).hotkeys),
    }),
  );
  const driver = new ChatDriver(setting, store);
  listen((id, text) => driver.onDelta(id, text));
  greet(store, setting, basename(workspace));
  const clear = () => {
    screen.clear();
    io.stdout.write("\u001b[2J\u001b[H");
  };
  const flushed = () => screen.waitUntilRenderFlush();
  const panels = new PanelScreen(store, style, io.stdout, { clear, flushed });
  const screen = render(createElement(ChatApp, { store, style, shown: panels.shown }), {
    exitOnCtrlC: false,
    // It is a terminal, that was looked at; who has CI in the environment may sit at one.
    interactive: true,
    patchConsole: true,
    maxFps: 60,
    incrementalRendering: true,
    kittyKeyboard: { mode: "auto" },
  });
  const resized = () =>
    store.dispatch({ type: "resized", columns: io.stdout.columns, rows: io.stdout.rows });
  process.stdout.on("resize", resized);
  driver.onRedraw(() => {
    clear();
    resized();
  });
  const stopped = new Promise<StopSignal>((resolve) => {
    const release = io.onSignal(resolve);
    void driver.left.then(release);
  });
  try {
    if (sessionId !== null) await driver.open(sessionId);
    await driver.takeUp();
    if (message !== "")
      store.dispatch({ type: "text", text: message }, { type: "key", chord: "enter" });
    const end = await Promise.race([driver.left.then(() => "left" as const), stopped]);
    return codeOf(end);
  } finally {
    process.stdout.off("resize", resized);
    driver.stop();
    store.dispatch({ type: "closed" });
    panels.close();
    screen.unmount();
    await screen.waitUntilExit();
    sayGoodbye(store, io);
  }
}

/** React looks once, when it is loaded, whether to check itself. Commands of agents see nothing of it. */
async function loadScreen() {
  const { NODE_ENV: before } = process.env;
  process.env["NODE_ENV"] = "production";
  try {
    return await Promise.all([import("ink"), import("react"), import("./chat-app.ts")]);
  } finally {
    if (before === undefined) delete process.env["NODE_ENV"];
    else process.env["NODE_ENV"] = before;
  }
}

function codeOf(end: "left" | StopSignal): number {
  if (end === "left") return exitCode.done;
  return end === "SIGINT" ? exitCode.interrupted : end === "SIGTERM" ? 143 : 129;
}

function greet(store: ChatStore, { modelNotice, profile }: ChatSetting, folder: string): void {
  store.dispatch({
    type: "entries",
    entries: [
      { kind: "rule", text: `mandate chat with ${profile} in ${folder}` },
      ...(modelNotice === "" ? [] : [{ kind: "note", tone: "warn", text: modelNotice } as const]),
    ],
  });
}

/** How to come back, and what is not finished. */
function sayGoodbye({ state }: ChatStore, io: Io): void {
  const { id } = state.session;
  const open = [...new Set(state.agents.map(({ runId }) => runId))];
  if (open.length > 0) {
    io.stderr.write(`Not finished: ${open.join(", ")}. The next start goes on with it.\n`);
  }
  if (id !== null) io.stderr.write(`Go on with: ${io.program} chat --continue ${id}\n`);
}
