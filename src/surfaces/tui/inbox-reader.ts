import { openAskOf } from "../../events/delegation.ts";
import { Inbox } from "../../inbox/inbox.ts";
import type { Store } from "../../ports/store.ts";
import type { ChatInbox } from "./chat-state.ts";

/** Several items of one moment are read together. */
const settleMs = 20;

/** Keeps an eye on the inbox: tells of it whenever something is new in it, or was answered. */
export class InboxReader {
  readonly inbox: Inbox;
  readonly #store: Store;
  readonly #tell: (inbox: ChatInbox) => void;
  readonly #stop: () => void;
  #timer: NodeJS.Timeout | undefined;

  constructor(store: Store, tell: (inbox: ChatInbox) => void) {
    this.#store = store;
    this.#tell = tell;
    this.inbox = new Inbox(store);
    this.#stop = this.inbox.on(() => this.refresh());
    this.refresh();
  }

  refresh(): void {
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      // A store that is busy or closed has nothing to tell; the next item tries again.
      void this.#read().catch(() => undefined);
    }, settleMs);
  }

  stop(): void {
    clearTimeout(this.#timer);
    this.#stop();
  }

  async #read(): Promise<void> {
    const [latest, open, unread] = await Promise.all([
      this.inbox.read({ limit: 50 }),
      this.inbox.open(),
      this.inbox.unreadCount(),
    ]);
    const known = new Set(latest.map(({ id }) => id));
    const items = [...open.filter(({ id }) => !known.has(id)), ...latest];
    const questions = new Map<string, string>();
    for (const { ask, isOpen, runId, text } of items) {
      if (ask && isOpen) questions.set(ask.id, (await this.#question(runId, ask.id)) ?? text);
    }
    this.#tell({ items, unread, questions });
  }

  async #question(runId: string, askId: string): Promise<string | undefined> {
    const run = await this.#store.readRun(runId).catch(() => undefined);
    for (const delegation of run?.delegations.values() ?? []) {
      const ask = openAskOf(delegation);
      if (ask?.id === askId) return ask.question;
    }
    return undefined;
  }
}
