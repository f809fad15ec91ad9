import type { StoredEvent } from "../../events/event.ts";
import { type Display, importanceOf, noteOf } from "./display.ts";
import { displayWidth } from "./display-width.ts";
import { drawTree } from "./draw-tree.ts";
import type { Io } from "./io.ts";
import type { RunView } from "./run-view.ts";
import { onOwnLines, type Style, styleFor } from "./style.ts";

const beatMs = 100;
/** Synchronized output: terminals that support it show a frame at once; others ignore it. */
const beginUpdate = "\u001b[?2026h";
const endUpdate = "\u001b[?2026l";
const clearToEnd = "\u001b[J";
const clearLine = "\u001b[K";

/**
 * Runs as trees at the bottom of the terminal, redrawn in place; notes scroll away above them. The
 * cursor is never hidden and each frame is one write, so that a killed process leaves a terminal that
 * works.
 */
export class LiveDisplay implements Display {
  readonly #io: Io;
  readonly #style: Style;
  readonly #views: RunView[] = [];
  readonly #timer: NodeJS.Timeout;
  #drawn: readonly string[] = [];
  #beat = 0;
  #isPaused = false;
  #isFinal = false;
  #hasEnded = false;

  constructor(io: Io) {
    this.#io = io;
    this.#style = styleFor(io.stderr, io);
    this.#timer = setInterval(() => {
      this.#beat += 1;
      this.#draw("");
    }, beatMs);
  }

  add(view: RunView): void {
    this.#views.push(view);
  }

  note(event: StoredEvent, view: RunView): void {
    if (importanceOf(event, view) !== "always") return;
    this.say(noteOf(event, view, this.#style, this.#io.stderr.columns));
  }

  say(text: string): void {
    if (this.#isPaused || this.#hasEnded) this.#io.stderr.write(`${text}\n`);
    else this.#draw(`${text}\n`);
  }

  pause(): void {
    this.#erase();
    this.#isPaused = true;
  }

  proceed(): void {
    this.#isPaused = false;
    this.#draw("");
  }

  clearFor(write: () => void): void {
    const isShown = !this.#isPaused && !this.#hasEnded;
    if (isShown) this.#erase();
    write();
    if (isShown) this.#draw("");
  }

  end(): void {
    if (this.#hasEnded) return;
    clearInterval(this.#timer);
    this.#isPaused = false;
    this.#isFinal = true;
    this.#draw("");
    if (this.#drawn.length > 0) this.#io.stderr.write("\n");
    this.#hasEnded = true;
  }

  #draw(above: string): void {
    if (this.#isPaused || this.#hasEnded) return;
    const { columns, rows } = this.#io.stderr;
    const frame = this.#frame(columns, rows);
    const body = onOwnLines(overwriting(frame.map((line) => `${line}\n`).join("")));
    this.#io.stderr.write(
      `${beginUpdate}${this.#toTop(columns)}${overwriting(above)}${body}${clearToEnd}${endUpdate}`,
    );
    this.#drawn = frame;
  }

  #frame(columns: number, rows: number): string[] {
    const shown = this.#views.filter(({ state }) => this.#isFinal || state.outcome === null);
    // The last line is the cursor's; the open runs share the others.
    const share = Math.floor((rows - 1) / Math.max(1, shown.length));
    const frame = { now: this.#io.now(), columns, rows: share - 1, beat: this.#beat };
    const lines = shown.flatMap((view) => ["", ...drawTree(view, this.#style, frame)]);
    return lines.slice(0, rows - 1);
  }

  #erase(): void {
    if (this.#hasEnded) return;
    this.#io.stderr.write(`${this.#toTop(this.#io.stderr.columns)}${clearToEnd}`);
    this.#drawn = [];
  }

  /** A window that became narrower wraps the lines of the last frame: they take more rows. */
  #toTop(columns: number): string {
    let rows = 0;
    for (const line of this.#drawn) rows += Math.max(1, Math.ceil(displayWidth(line) / columns));
    return rows === 0 ? "" : `\u001b[${rows}A\r`;
  }
}

/**
 * Text over older text, line by line. To clear the screen first would flicker, and tmux keeps what
 * is cleared from the first row on: its scrollback would fill with frames.
 */
function overwriting(text: string): string {
  return text.replaceAll("\n", `${clearLine}\n`);
}
