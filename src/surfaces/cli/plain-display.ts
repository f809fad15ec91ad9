import type { StoredEvent } from "../../events/event.ts";
import type { Display } from "./display.ts";
import type { Io } from "./io.ts";
import { importanceOf, noteOf } from "./noteworthy.ts";
import type { RunView } from "./run-view.ts";
import { styleFor } from "./style.ts";

/** For pipes, files and dumb terminals: one line for each event that matters. */
export class PlainDisplay implements Display {
  readonly #io: Io;

  constructor(io: Io) {
    this.#io = io;
  }

  note(event: StoredEvent, view: RunView): void {
    if (importanceOf(event) === "never") return;
    const style = styleFor(this.#io.stderr, this.#io);
    this.say(noteOf(event, view, style, Number.POSITIVE_INFINITY));
  }

  say(text: string): void {
    this.#io.stderr.write(`${text}\n`);
  }

  clearFor(write: () => void): void {
    write();
  }

  add(): void {}
  pause(): void {}
  proceed(): void {}
  end(): void {}
}

/** Says what it is told to say, and nothing of what happens by itself. */
export class QuietDisplay extends PlainDisplay {
  override note(): void {}
}
