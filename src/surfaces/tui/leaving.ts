import { earlyAnswerIn } from "../../sessions/delegation-result.ts";
import type { Departure } from "./chat-input.ts";
import type { ChatRuns } from "./chat-runs.ts";
import type { ChatStore, InputQueue } from "./chat-store.ts";
import type { ChatSetting } from "./conversation.ts";

/** How the person leaves, and what happens to sub-agents in the background then. */
export class Leaving {
  readonly #setting: ChatSetting;
  readonly #store: ChatStore;
  readonly #runs: ChatRuns;
  readonly #queue: InputQueue;
  readonly #left = Promise.withResolvers<void>();
  /** Runs that were handed to another process. */
  readonly detached: string[] = [];

  constructor(
    setting: ChatSetting,
    store: ChatStore,
    { queue, runs }: { readonly queue: InputQueue; readonly runs: ChatRuns },
  ) {
    this.#setting = setting;
    this.#store = store;
    this.#runs = runs;
    this.#queue = queue;
  }

  /** Resolves when the person wants to leave, and everything is ready for it. */
  get left(): Promise<void> {
    return this.#left.promise;
  }

  async leave(how: Departure | undefined): Promise<void> {
    const { detach, runtime } = this.#setting;
    switch (how) {
      case undefined:
        return this.leaveUnasked();
      case "wait":
        await this.#runs.answeredEnded();
        if (!this.#store.state.leavesAfterChildren) return;
        break;
      case "detach":
        for (const run of this.#runs.answered) {
          // A distributed run belongs to its workers, not to this process.
          if (run.spread === null) await detach(run);
          this.detached.push(run.id);
        }
        break;
      case "cancel":
        for (const run of this.#runs.answered) {
          const { running = [] } = earlyAnswerIn(run) ?? {};
          for (const id of running) await runtime.engine.cancel(id, "the person left the chat");
        }
        await this.#runs.answeredEnded();
        break;
      default:
        return how satisfies never;
    }
    // The farewell lists the runs that are open at that moment.
    await this.#queue.flushed();
    this.#left.resolve();
  }

  /** Leaves without a choice by the person: background sub-agents are interrupted. */
  async leaveUnasked(): Promise<void> {
    const { engine } = this.#setting.runtime;
    const { answered } = this.#runs;
    if (answered.length === 0) return this.#left.resolve();
    for (const { id } of answered) {
      await engine.interrupt(id, "the person left the chat").catch(() => undefined);
    }
    await this.#queue.flushed();
    this.#left.resolve();
  }
}
