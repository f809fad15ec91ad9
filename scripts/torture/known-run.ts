import type { Acknowledged } from "../../src/events/checker/check-store.ts";
import type { Message } from "./messages.ts";

/** Taken up so often without a step forward a delegation is given up, which is no fault of ours. */
const resumptionLimit = 3;

const progress: ReadonlySet<string> = new Set([
  "agent.model_turn",
  "agent.tool_completed",
  "agent.tool_failed",
  "agent.tool_outcome_unknown",
  "agent.subagent_closed",
]);

/** What the workers of a run have told so far, all lives together. */
export class KnownRun {
  readonly acknowledged: Acknowledged[] = [];
  /** How often each open delegation was taken up since it last got anywhere, as far as known. */
  readonly #resumptions = new Map<string, number>();
  /** Those that must get somewhere in this life, or the next one has to give them up. */
  readonly #onTheirLast = new Set<string>();
  #isOpened = false;

  beginLife(): void {
    this.#isOpened = false;
    this.#onTheirLast.clear();
  }

  hear(message: Message): void {
    if (message.type === "opened") {
      this.#isOpened = true;
      for (const { id, resumptions, waits } of message.open) {
        this.#resumptions.set(id, resumptions);
        // One that waits for others is not stuck, however often it is taken up meanwhile.
        if (!waits && resumptions + 1 >= resumptionLimit) this.#onTheirLast.add(id);
      }
    }
    if (message.type !== "committed") return;
    for (const { id, type, run_id, seq, hash } of message.events) {
      this.acknowledged.push({ run_id, seq, hash });
      if (id === null) continue;
      if (type === "agent.resumed") this.#resumptions.set(id, (this.#resumptions.get(id) ?? 0) + 1);
      if (!progress.has(type)) continue;
      this.#resumptions.delete(id);
      this.#onTheirLast.delete(id);
    }
  }

  /**
   * A kill now would leave every delegation a further try. Before the process has said how things
   * stand, one resumption more than we know of may be on disk, and another may follow unheard.
   */
  get mayBeKilled(): boolean {
    if (!this.#isOpened) return this.#resumptions.size === 0;
    return this.#onTheirLast.size === 0;
  }
}
