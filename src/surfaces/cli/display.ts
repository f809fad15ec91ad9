import type { StoredEvent } from "../../events/event.ts";
import type { RunView } from "./run-view.ts";

/** How people see work in progress: a tree that moves, plain lines, or nothing. */
export interface Display {
  /** From now on this run is shown too. */
  add(view: RunView): void;
  /** An event that is already part of the view. */
  note(event: StoredEvent, view: RunView): void;
  /** Text that stays, on lines of its own. */
  say(text: string): void;
  /** Leaves the screen to somebody else, such as a question, until `proceed`. */
  pause(): void;
  proceed(): void;
  /** Has something else written to the terminal, and draws nothing below it until then. */
  clearFor(write: () => void): void;
  /** Draws what is to stay, and nothing more after it. */
  end(): void;
}
