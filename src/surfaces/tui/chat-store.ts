import type { ChatEffect, ChatInput } from "./chat-input.ts";
import type { ChatState } from "./chat-state.ts";
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
