import type { Clock, Timer } from "../../ports/clock.ts";
import type { ChatEffect, ChatInput } from "./chat-input.ts";
import type { ChatState } from "./chat-state.ts";
import { stepChat } from "./step-chat.ts";

/** Holds the state of a chat. Inputs of one dispatch cause one redraw. */
export class ChatStore {
  #state: ChatState;
  readonly #listeners = new Set<() => void>();
  #perform: (effect: ChatEffect) => void = () => undefined;

  constructor(state: ChatState) {
    this.#state = state;
  }

  get state(): ChatState {
    return this.#state;
  }

  /** Sets the function that performs effects. */
  performedBy(perform: (effect: ChatEffect) => void): void {
    this.#perform = perform;
  }

  dispatch(...inputs: readonly ChatInput[]): void {
    const before = this.#state;
    const wanted: ChatEffect[] = [];
    for (const input of inputs) {
      const { effects, state } = stepChat(this.#state, input);
      this.#state = state;
      wanted.push(...effects);
    }
    if (this.#state !== before) for (const listener of this.#listeners) listener();
    for (const effect of wanted) this.#perform(effect);
  }

  subscribe(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }
}

/** The least time between two redraws for events. Keys are shown at once. */
const flushMs = 50;

/** Collects inputs in order, and delivers them in batches, at most twenty times a second. */
export class InputQueue {
  readonly #deliver: (inputs: readonly ChatInput[]) => void;
  readonly #clock: Clock;
  #waiting: ChatInput[] = [];
  #holds = 0;
  #timer: Timer | undefined;
  #deliveredAt = Number.NEGATIVE_INFINITY;
  #flushed = Promise.withResolvers<void>();

  constructor(deliver: (inputs: readonly ChatInput[]) => void, clock: Clock) {
    this.#deliver = deliver;
    this.#clock = clock;
  }

  push(...inputs: readonly ChatInput[]): void {
    this.#waiting.push(...inputs);
    this.#schedule();
  }

  /** Delivers what waits, and then this: a line must not come before what happened earlier. */
  deliver(...inputs: readonly ChatInput[]): void {
    if (this.#holds > 0) this.push(...inputs);
    else this.#deliver([...this.takeAll(), ...inputs]);
  }

  /** Removes the waiting inputs, so that the caller can put others before them. */
  takeAll(): readonly ChatInput[] {
    const taken = this.#waiting;
    this.#waiting = [];
    return taken;
  }

  /** Delivers nothing while `work` runs: what it reads is older than the waiting inputs. */
  async holdWhile(work: () => Promise<void>): Promise<void> {
    this.#holds += 1;
    try {
      await work();
    } finally {
      this.#holds -= 1;
      this.#schedule();
    }
  }

  /** Resolves when the waiting inputs were delivered. */
  flushed(): Promise<void> {
    return this.#waiting.length === 0 ? Promise.resolve() : this.#flushed.promise;
  }

  stop(): void {
    this.#timer?.cancel();
    this.#holds = Number.POSITIVE_INFINITY;
  }

  #schedule(): void {
    if (this.#timer !== undefined || this.#holds > 0) return;
    const wait = Math.max(0, this.#deliveredAt + flushMs - this.#clock.monotonic());
    this.#timer = this.#clock.after(wait, () => this.#flush());
  }

  #flush(): void {
    this.#timer = undefined;
    if (this.#holds > 0) return;
    this.#deliveredAt = this.#clock.monotonic();
    this.#deliver(this.takeAll());
    this.#flushed.resolve();
    this.#flushed = Promise.withResolvers();
  }
}
