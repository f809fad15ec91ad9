import { render, type useApp } from "ink";
import { createElement } from "react";
import type { Io } from "../cli/io.ts";
import { onOwnLines, type Style, terminalLetters } from "../cli/style.ts";
import { ChatApp } from "./chat-app.ts";
import type { ChatStore } from "./chat-store.ts";
import { PanelScreen } from "./panel-screen.ts";

type Instance = ReturnType<typeof render>;
type SuspendTerminal = ReturnType<typeof useApp>["suspendTerminal"];

/**
 * Erases from the cursor, at the start of a row, to the end of the screen. A plain erase (ESC[J) in the
 * first row makes tmux move the whole screen into its history, with the live part on it
 * (`scroll-on-clear`, on by default): so the cursor's row is erased alone, and the others from the next row.
 */
const eraseBelow = "\u001b[K\u001b7\u001b[B\u001b[J\u001b8";
/** Clears the screen from the first row on; the scrollback stays. */
const wipe = `\u001b[H${eraseBelow}`;

/** The terminal while the chat has it: drawn, redrawn, given back. */
export class ChatScreen {
  readonly #store: ChatStore;
  readonly #io: Io;
  readonly #panels: PanelScreen;
  readonly #ink: Instance;
  readonly #release: () => void;
  #suspendTerminal: SuspendTerminal | undefined;

  constructor(store: ChatStore, style: Style, io: Io) {
    // Raw mode comes first: in line mode, a terminal turns Enter that is typed ahead into a line feed.
    if (process.stdin.isTTY) process.stdin.setRawMode(true);
    this.#store = store;
    this.#io = io;
    // Before Ink listens: the first screen is back when it draws again.
    this.#panels = new PanelScreen(store, style, io, {
      redraw: () => this.redraw(),
      flushed: () => this.#ink.waitUntilRenderFlush(),
    });
    const app = createElement(ChatApp, {
      store,
      style,
      shown: this.#panels.shown,
      offerSuspension: (suspend: SuspendTerminal) => {
        this.#suspendTerminal = suspend;
      },
    });
    this.#ink = render(app, {
      stdout: guardedStdout(process.stdout, io.environment),
      exitOnCtrlC: false,
      // The caller has checked that this is a terminal: the variable CI must not switch drawing off.
      interactive: true,
      patchConsole: true,
      maxFps: 60,
      incrementalRendering: true,
      kittyKeyboard: { mode: "auto" },
    });
    this.#release = this.#listen();
  }

  /** Rejects when it can no longer be drawn; never resolves before `close`. */
  get lost(): Promise<unknown> {
    return this.#ink.waitUntilExit();
  }

  /** Redraws everything, whatever is on the screen. */
  redraw(): void {
    this.#wipe();
    this.#store.dispatch({ type: "redrawn" });
  }

  /** Gives the terminal back to the shell until it is wanted again. */
  async suspend(): Promise<void> {
    await this.#suspendTerminal?.(async () => {
      this.#io.stderr.write("Stopped, and the work with it. fg continues.\n");
      await suspendProcess();
    });
    this.#resize();
  }

  /** Removes the live part; the conversation stays. */
  async close(): Promise<void> {
    this.#release();
    this.#store.dispatch({ type: "closed" });
    await this.#ink.waitUntilRenderFlush();
    this.#panels.close();
    this.#ink.unmount();
    await this.#ink.waitUntilExit().catch(() => undefined);
  }

  #listen(): () => void {
    const resized = () => this.#resize();
    const suspended = () => this.#store.dispatch({ type: "key", chord: "ctrl+z" });
    // However the process ends, the terminal must leave the alternate screen.
    const exited = () => this.#panels.close();
    process.stdout.on("resize", resized);
    process.on("SIGTSTP", suspended);
    process.on("exit", exited);
    return () => {
      process.stdout.off("resize", resized);
      process.off("SIGTSTP", suspended);
      process.off("exit", exited);
    };
  }

  /** The lines on the screen were drawn for the old width, and the terminal has rewrapped them. */
  #resize(): void {
    const { columns, rows } = this.#io.stdout;
    const isOtherWidth = columns !== this.#store.state.columns;
    if (isOtherWidth && !this.#panels.isOpen) this.#wipe();
    this.#store.dispatch({ type: "resized", columns, rows });
  }

  #wipe(): void {
    this.#ink.clear();
    this.#io.stdout.write(wipe);
  }
}

/** How long to wait for the stop signal. The time in which the process is stopped does not count. */
const graceMs = 300;

/**
 * Stops this process and its job, as Ctrl-Z does, and resolves when the process continues. A process
 * without job control (the first of a container) is not stopped, and continues at once.
 */
async function suspendProcess(): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const heard = process.listeners("SIGTSTP");
  for (const listener of heard) process.off("SIGTSTP", listener);
  process.once("SIGCONT", resolve);
  const timer = setTimeout(resolve, graceMs);
  process.kill(0, "SIGTSTP");
  await promise;
  clearTimeout(timer);
  process.off("SIGCONT", resolve);
  for (const listener of heard) process.on("SIGTSTP", listener);
}

/** Control sequences only: nothing that could be too wide. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for.
const ordersOnly = /^(?:\u001b(?:[78]|\[[?>=<\d;]*[A-Za-z]))*$/;

/**
 * The stream that Ink writes to. Text is encoded for the terminal's character set, and lines do not
 * wrap: each line begins with a mark of the chat, however wide a terminal draws model output.
 */
export function guardedStdout(
  stdout: NodeJS.WriteStream,
  environment: Io["environment"],
): NodeJS.WriteStream {
  const spell = terminalLetters(environment);
  const write = (chunk: string | Uint8Array, ...rest: readonly unknown[]): boolean => {
    const given = typeof chunk === "string" ? chunk.replaceAll("\u001b[J", eraseBelow) : chunk;
    const isText = typeof given === "string" && !ordersOnly.test(given);
    const text = isText ? onOwnLines(spell(given)) : given;
    return Reflect.apply(stdout.write, stdout, [text, ...rest]) === true;
  };
  return new Proxy(stdout, {
    get(target, name) {
      if (name === "write") return write;
      const value: unknown = Reflect.get(target, name, target);
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
}
