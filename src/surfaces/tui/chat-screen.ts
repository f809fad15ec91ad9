import type { Io } from "../cli/io.ts";
import type { Style } from "../cli/style.ts";
import type { ChatStore } from "./chat-store.ts";
import { guardedStdout } from "./guarded-stdout.ts";
import { type Drawing, loadDrawing } from "./load-drawing.ts";
import { PanelScreen } from "./panel-screen.ts";
import { suspendProcess } from "./suspend-process.ts";

type Instance = ReturnType<typeof import("ink").render>;
type SuspendTerminal = ReturnType<typeof import("ink").useApp>["suspendTerminal"];

/** From the first row on. What has scrolled away stays where it is. */
const wipe = "\u001b[H\u001b[J";

/** The terminal while a chat has it: drawn on, made anew, given back. */
export class ChatScreen {
  readonly #store: ChatStore;
  readonly #io: Io;
  readonly #panels: PanelScreen;
  readonly #ink: Instance;
  readonly #release: () => void;
  #suspendTerminal: SuspendTerminal | undefined;

  private constructor(
    { createElement, render, ChatApp }: Drawing,
    store: ChatStore,
    style: Style,
    io: Io,
  ) {
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
      // It is a terminal, that was looked at; who has CI in the environment may sit at one.
      interactive: true,
      patchConsole: true,
      maxFps: 60,
      incrementalRendering: true,
      kittyKeyboard: { mode: "auto" },
    });
    this.#release = this.#listen();
  }

  static async open(store: ChatStore, style: Style, io: Io): Promise<ChatScreen> {
    // Before anything is drawn: Enter that is typed ahead must arrive as Enter, and not as the line
    // feed that a terminal in line mode makes of it.
    const { stdin } = process;
    if (stdin.isTTY) stdin.setRawMode(true);
    try {
      return new ChatScreen(await loadDrawing(), store, style, io);
    } catch (error) {
      if (stdin.isTTY) stdin.setRawMode(false);
      throw error;
    }
  }

  /** Rejects when it can no longer be drawn; never resolves before `close`. */
  get lost(): Promise<unknown> {
    return this.#ink.waitUntilExit();
  }

  /** All that a person should see, on a screen where anything may stand. */
  redraw(): void {
    this.#wipe();
    this.#store.dispatch({ type: "redrawn" });
  }

  /** Gives the terminal back to the shell until it is wanted again. */
  async suspend(): Promise<void> {
    await this.#suspendTerminal?.(async () => {
      this.#io.stderr.write("Stopped, and the work with it. fg goes on.\n");
      await suspendProcess();
    });
    this.#resize();
  }

  /** What was said stays, and what moved is gone. */
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
    // Whatever ends the process: nobody is left on the other screen.
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

  /** Lines that are there were made for another width, and the terminal has broken them by itself. */
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
