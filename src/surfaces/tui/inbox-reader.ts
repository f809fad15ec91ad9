import { describeAsk } from "../../application/describe-ask.ts";
import type { InboxItem } from "../../events/inbox-item.ts";
import type { Clock, Timer } from "../../ports/clock.ts";
import { mostInboxItems, type Store } from "../../ports/store.ts";
import { Inbox } from "../../sessions/inbox.ts";
import type { ChatInbox, WholeQuestion } from "./chat-state.ts";

/** Items that arrive within this time are read together. */
const settleMs = 20;

interface ReaderSurroundings {
  /** MANDATE_HOME. */
  readonly home: string;
  readonly clock: Clock;
  /** Resolves when all events so far are on the screen. */
  readonly settled: () => Promise<void>;
  readonly tell: (inbox: ChatInbox) => void;
}

/**
 * Watches the inbox and reports each change. Items that the conversation has shown are not news: the
 * read position moves past them, up to the first unseen item. Shown items after that one are left out
 * of the unread count.
 */
export class InboxReader {
  readonly inbox: Inbox;
  readonly #store: Store;
  readonly #around: ReaderSurroundings;
  readonly #stop: () => void;
  /** Ids after the reader's place that the conversation has shown. */
  readonly #told = new Set<number>();
  #wholes: ReadonlyMap<string, WholeQuestion> = new Map();
  #timer: Timer | undefined;

  constructor(store: Store, around: ReaderSurroundings) {
    this.#store = store;
    this.#around = around;
    this.inbox = new Inbox(store);
    this.#stop = this.inbox.on(() => this.refresh());
    this.refresh();
  }

  refresh(): void {
    this.#timer ??= this.#around.clock.after(settleMs, () => {
      this.#timer = undefined;
      // Reading can fail while the store is busy or closed; the next item tries again.
      void this.#read().catch(() => undefined);
    });
  }

  noteTold(items: readonly number[]): void {
    for (const item of items) this.#told.add(item);
    this.refresh();
  }

  /** The person who answered has seen the question and the answer. */
  async noteAnswered(askId: string): Promise<void> {
    const runId = await this.#store.findRun(askId);
    if (runId === undefined) return;
    const types = ["agent.asked", "agent.answered"] as const;
    for await (const event of this.#store.readEvents({ runId, types })) {
      if (event.type !== "agent.asked" && event.type !== "agent.answered") continue;
      if (event.payload.ask_id === askId) this.#told.add(event.seq);
    }
  }

  stop(): void {
    this.#timer?.cancel();
    this.#stop();
  }

  async #read(): Promise<void> {
    await this.#around.settled();
    const [latest, open, unread] = await Promise.all([
      this.inbox.read({ limit: 50 }),
      this.inbox.open(),
      this.#countNews(),
    ]);
    const known = new Set(latest.map(({ id }) => id));
    const items = [...open.filter(({ id }) => !known.has(id)), ...latest];
    const questions = new Map<string, WholeQuestion>();
    for (const item of items) {
      if (item.ask && item.isOpen) questions.set(item.ask.id, await this.#wholeOf(item));
    }
    this.#wholes = questions;
    this.#around.tell({ items, unread, questions });
  }

  /** A question does not change: what belongs to it is read once. */
  async #wholeOf(item: InboxItem): Promise<WholeQuestion> {
    const known = this.#wholes.get(item.ask?.id ?? "");
    if (known !== undefined) return known;
    const { call: _, ...whole } = await describeAsk(
      { store: this.#store, home: this.#around.home },
      item,
    );
    return whole;
  }

  async #countNews(): Promise<number> {
    if (this.#told.size === 0) return this.inbox.unreadCount();
    const unread = await this.inbox.unread({ limit: mostInboxItems });
    const news = unread.filter(({ id }) => !this.#told.has(id));
    const first = news[0]?.id ?? Number.POSITIVE_INFINITY;
    const last = unread.findLast(({ id }) => id < first);
    if (last !== undefined) {
      await this.inbox.markRead(last.id);
      for (const id of this.#told) if (id <= last.id) this.#told.delete(id);
    }
    return news.length;
  }
}
