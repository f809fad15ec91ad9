import type { StoredEvent } from "../../events/event.ts";

type Listener = (events: readonly StoredEvent[]) => void;

/** Those who hear of every committed event. */
export class Listeners {
  readonly #listeners = new Set<Listener>();

  add(listener: Listener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  tell(events: readonly StoredEvent[]): void {
    for (const listener of this.#listeners) {
      try {
        listener(events);
      } catch (error) {
        // A listener failed; the event is committed, and the other listeners get it.
        process.emitWarning(error instanceof Error ? error : String(error));
      }
    }
  }
}
