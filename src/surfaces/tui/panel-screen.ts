import type { Io, Writer } from "../cli/io.ts";
import { onOwnLines, type Style } from "../cli/style.ts";
import { type ChatState, isTooSmall } from "./chat-state.ts";
import type { ChatStore } from "./chat-store.ts";
import { drawPanelScreen } from "./draw/draw-panel.ts";

const enter = "\u001b[?1049h\u001b[?25l\u001b[2J";
const leave = "\u001b[?1049l\u001b[?25h";
/** Terminals with one screen only: a panel overwrites it. */
const withOneScreen = /^(?:linux|vt1\d\d|vt2\d\d|ansi|cons25)/;

interface FirstScreen {
  /** Resolves when no frame is pending. */
  flushed(): Promise<void>;
  /** Redraws everything: the terminal shows something else, or nothing. */
  redraw(): void;
}

/**
 * Large panels use the terminal's alternate screen: the conversation is unchanged when they
 * close. Until then the first screen does not change: its drawing reads `shown`, and not the
 * state itself. Construct it before Ink subscribes, so that the first screen is restored before Ink draws.
 */
export class PanelScreen {
  readonly #store: ChatStore;
  readonly #style: Style;
  readonly #writer: Writer;
  readonly #beneath: FirstScreen;
  readonly #isOverwriting: boolean;
  readonly #stop: () => void;
  #shown: ChatState;
  #isEntered = false;
  #painted = "";
  #size = "";

  constructor(
    store: ChatStore,
    style: Style,
    { environment, stdout }: Pick<Io, "environment" | "stdout">,
    beneath: FirstScreen,
  ) {
    this.#store = store;
    this.#style = style;
    this.#writer = stdout;
    this.#isOverwriting = withOneScreen.test(environment["TERM"] ?? "");
    this.#beneath = beneath;
    this.#shown = store.state;
    this.#stop = store.subscribe(() => this.#follow());
  }

  /** The state as the first screen has it. */
  readonly shown = (): ChatState => {
    if (!coversAll(this.#store.state)) this.#shown = this.#store.state;
    return this.#shown;
  };

  get isOpen(): boolean {
    return this.#isEntered;
  }

  close(): void {
    this.#stop();
    if (this.#isEntered) this.#writer.write(leave);
    this.#isEntered = false;
  }

  #follow(): void {
    if (coversAll(this.#store.state)) {
      if (this.#isEntered) this.#paint();
      else void this.#open();
    } else if (this.#isEntered) {
      this.#isEntered = false;
      this.#writer.write(leave);
      // Ink repaints changed lines only, and these lines have moved or are gone.
      if (this.#isOverwriting || this.#size !== sizeOf(this.#store.state)) this.#beneath.redraw();
    }
  }

  /** A frame that is on its way to the first screen must not land on this one. */
  async #open(): Promise<void> {
    await this.#beneath.flushed();
    if (this.#isEntered || !coversAll(this.#store.state)) return;
    this.#isEntered = true;
    this.#painted = "";
    this.#size = sizeOf(this.#store.state);
    this.#writer.write(enter);
    this.#paint();
  }

  #paint(): void {
    const lines = drawPanelScreen(this.#store.state, this.#style);
    const frame = lines.map((line) => `${line}\u001b[K`).join("\r\n");
    if (frame === this.#painted) return;
    this.#painted = frame;
    this.#writer.write(onOwnLines(`\u001b[H${frame}\u001b[J`));
  }
}

/** The panels about children stay on the first screen, beside what the children do. */
function coversAll(state: ChatState): boolean {
  return (
    state.panel.is !== "none" &&
    state.panel.is !== "interrupt" &&
    state.panel.is !== "leaving" &&
    !isTooSmall(state)
  );
}

function sizeOf({ columns, rows }: ChatState): string {
  return `${columns}x${rows}`;
}
