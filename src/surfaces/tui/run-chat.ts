import { basename } from "node:path";
import { hotkeysOf } from "../../application/commands/profile-triggers.ts";
import { findPlaces } from "../../control/places.ts";
import { MandateError } from "../../ports/mandate-error.ts";
import { exitCode } from "../cli/exit-code.ts";
import type { Io, StopSignal } from "../cli/io.ts";
import { styleFor } from "../cli/style.ts";
import { Attention } from "./attention.ts";
import { ChatDriver } from "./chat-driver.ts";
import { ChatScreen } from "./chat-screen.ts";
import { openChatState } from "./chat-state.ts";
import { ChatStore } from "./chat-store.ts";
import type { ChatSetting } from "./conversation.ts";
import { usableHotkeys } from "./keys/keys.ts";
import { SaidFile } from "./said-file.ts";
import type { TypedAhead } from "./typed-ahead.ts";

export interface ChatBeginning {
  /** The session to continue; null: a new one. */
  readonly sessionId: string | null;
  /** The first message. */
  readonly message: string;
  /** Interrupted runs that the person wants resumed. */
  readonly beside: readonly string[];
  /** What was typed before the screen was up. */
  readonly typed: Pick<TypedAhead, "giveBack">;
  /** Receives the listener of deltas, once the chat can show them. */
  readonly listen: (onDelta: NonNullable<Deltas>) => void;
}

type Deltas = (delegationId: string, text: string) => void;

/** Runs the chat until the person leaves. Gives the exit code. */
export async function runChat(
  setting: ChatSetting,
  { beside, listen, message, sessionId, typed }: ChatBeginning,
): Promise<number> {
  const { io, model, modelNotice, profile, runtime, workspace } = setting;
  const store = new ChatStore(
    openChatState({
      columns: io.stdout.columns,
      rows: io.stdout.rows,
      now: io.now(),
      session: { id: null, title: "", profile, modelNotice },
      hotkeys: usableHotkeys(hotkeysOf(runtime.profiles.all()).hotkeys),
      model,
      said: new SaidFile(findPlaces(io.environment).home).read(),
    }),
  );
  const driver = new ChatDriver(setting, store);
  // A person attends until the runtime is closed, at the end of the chat.
  runtime.attend();
  listen((id, text) => driver.onDelta(id, text));
  greet(store, setting, basename(workspace));
  const crash = listenForCrash(io);
  const ready = Promise.withResolvers<void>();
  driver.holdUntil(ready.promise);
  await typed.giveBack();
  const screen = new ChatScreen(store, styleFor(io.stdout, io), io);
  driver.showOn(screen);
  const attention = new Attention(store, basename(workspace), io);
  const { promise: stopped, resolve: stop } = Promise.withResolvers<StopSignal>();
  const release = io.onSignal(stop);
  const inputEnded = new Promise<"left">((resolve) => {
    process.stdin.once(
      "end",
      () => void driver.departure.leaveUnasked().finally(() => resolve("left")),
    );
  });
  const begin = async () => {
    // Runs are resumed before the session is opened, so that the session attaches to its run while
    // the run works.
    const resumed = await driver.resume(beside);
    if (sessionId !== null) await driver.open(sessionId);
    await driver.workBeside(resumed);
    ready.resolve();
    if (message !== "")
      store.dispatch({ type: "text", text: message }, { type: "key", chord: "enter" });
  };
  try {
    const left = driver.departure.left.then(() => "left" as const);
    const lost = screen.lost.then(() => "left" as const);
    const unreadable = driver.databaseLost.then((error) => {
      crash.keep();
      throw databaseLost(error, io.program);
    });
    const ends = [left, stopped, inputEnded, lost, crash.seen, unreadable];
    // A person who leaves at once does not wait for the session to load.
    const end = await Promise.race([...ends, begin().then(() => Promise.race(ends))]);
    return codeOf(end);
  } finally {
    driver.stop();
    attention.close();
    await screen.close();
    release();
    crash.release();
    sayGoodbye(store, driver.departure.detached, io);
  }
}

/**
 * An uncaught exception, above all the loss of the database, ends the chat as an error does: the
 * terminal is given back, and a sentence says why. The listener stays after the first
 * exception, and after another sign of the loss: closing the rest can raise the same error again.
 */
function listenForCrash({ program }: Io): {
  readonly seen: Promise<never>;
  keep(): void;
  release(): void;
} {
  const { promise: seen, reject } = Promise.withResolvers<never>();
  seen.catch(() => undefined);
  let isKept = false;
  const hear = (error: NodeJS.ErrnoException): void => {
    isKept = true;
    reject(error.code === "ERR_SQLITE_ERROR" ? databaseLost(error, program) : error);
  };
  process.on("uncaughtException", hear);
  return {
    seen,
    keep: () => {
      isKept = true;
    },
    release: () => void (isKept || process.off("uncaughtException", hear)),
  };
}

function databaseLost(cause: Error, program: string): MandateError {
  return new MandateError(
    "database-unusable",
    `The database was lost while the chat was open: ${cause.message}. ${program} verify says what is left of it.`,
    { cause },
  );
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

/** Prints how to continue the session, and which runs are open. */
function sayGoodbye({ state }: ChatStore, detached: readonly string[], io: Io): void {
  const { id } = state.session;
  const runs = new Set(state.agents.map(({ runId }) => runId));
  const open = [...runs].filter((runId) => !detached.includes(runId));
  for (const runId of detached) {
    io.stderr.write(
      `${runId} continues without this terminal. Look at it: ${io.program} ls; ${io.program} show ${runId}\n`,
    );
  }
  if (open.length > 0) {
    const commands = open.map((runId) => `${io.program} resume ${runId}`).join("; ");
    io.stderr.write(`Not finished: ${open.join(", ")}. Resume: ${commands}\n`);
  }
  if (id !== null) io.stderr.write(`Continue the session: ${io.program} chat --continue ${id}\n`);
}
