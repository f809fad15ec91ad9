import type { Clock, Timer } from "../../ports/clock.ts";
import type { ChatEffect, ChatInput, ChatState } from "./chat-state.ts";
import { stepChat } from "./step-chat.ts";

/** Holds the state of a chat between inputs. What happens together is shown together. */
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

  /** Who does what a chat wants done. */
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

/** What happens by itself is shown this often at most. Keys are shown at once. */
const flushMs = 50;

/** Collects what happens, in order, and hands it on in one piece, twenty times a second at most. */
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

  /** Takes out what waits: it belongs behind something that comes only now. */
  takeAll(): readonly ChatInput[] {
    const taken = this.#waiting;
    this.#waiting = [];
    return taken;
  }

  /** Nothing is handed on while this works: what it reads is older than what waits. */
  async holdWhile(work: () => Promise<void>): Promise<void> {
    this.#holds += 1;
    try {
      await work();
    } finally {
      this.#holds -= 1;
      this.#schedule();
    }
  }

  /** When what waits now was handed on. */
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
