import { type Keys, requireKnownKeys } from "../agents/documents/nearest-key.ts";
import { openAskOf } from "../events/delegation.ts";
import { type InboxItem, inboxKinds, isInboxType } from "../events/inbox-item.ts";
import { type Clock, systemClock } from "../ports/clock.ts";
import { MandateError } from "../ports/mandate-error.ts";
import { type InboxQuery, type InboxStore, mostInboxItems, type Store } from "../ports/store.ts";
import { stripHidden } from "../ports/visible-text.ts";
import { type AnswerOutcome, answerAsk } from "./answer-ask.ts";

/** The part of a store that an inbox needs. */
export type InboxSource = InboxStore &
  Pick<Store, "append" | "findRun" | "readEvents" | "readRun" | "subscribe">;

export interface InboxOptions {
  /** The default reader. */
  readonly reader?: string;
}

/** `limit`: default 50. */
export type InboxSelection = Omit<InboxQuery, "limit"> & { readonly limit?: number };

export interface UnreadQuery {
  readonly reader?: string;
  readonly limit?: number;
}

/**
 * The inbox for surfaces. Reading neither removes nor marks items; `markRead` marks them for one reader.
 * @example
 * const inbox = new Inbox(store);
 * for (const { ask } of await inbox.open()) if (ask) await inbox.answer(ask.id, "yes");
 */
export class Inbox {
  readonly #store: InboxSource;
  readonly #reader: string;

  constructor(store: InboxSource, options: InboxOptions = {}) {
    this.#store = store;
    this.#reader = requireReader(options.reader ?? "local");
  }

  /** The last items in their order, or those after an id. */
  async read(selection: InboxSelection = {}): Promise<readonly InboxItem[]> {
    return this.#withQuestions(await this.#store.readInbox(queryOf(selection)));
  }

  /** Adds the whole questions: stored items have only the beginning. */
  async #withQuestions(items: readonly InboxItem[]): Promise<readonly InboxItem[]> {
    const asking = new Set(items.filter(({ isOpen }) => isOpen).map(({ runId }) => runId));
    const questions = new Map<string, string>();
    for (const runId of asking) {
      const run = await this.#store.readRun(runId);
      for (const delegation of run?.delegations.values() ?? []) {
        const ask = openAskOf(delegation);
        if (ask !== null) questions.set(ask.id, stripHidden(ask.question));
      }
    }
    return items.map((item) => {
      const question = item.isOpen && item.ask ? questions.get(item.ask.id) : undefined;
      return question === undefined || !item.ask
        ? item
        : { ...item, ask: { ...item.ask, question } };
    });
  }

  /** Items that wait for an answer, from every depth, oldest first. */
  async open(selection: Omit<InboxSelection, "openOnly"> = {}): Promise<readonly InboxItem[]> {
    return this.read({ after: 0, ...selection, openOnly: true });
  }

  /** The first unread items of a reader. */
  async unread(query: UnreadQuery = {}): Promise<readonly InboxItem[]> {
    requireKnownKeys("inbox.unread", query, unreadKeys);
    const { reader, limit } = query;
    const after = await this.seen(reader);
    return this.read({ after, ...(limit !== undefined && { limit }) });
  }

  /** The id of the last item that a reader has seen. */
  async seen(reader: string = this.#reader): Promise<number> {
    return this.#store.readCursor(requireReader(reader));
  }

  /** The number of unread items, at most a thousand. */
  async unreadCount(reader: string = this.#reader): Promise<number> {
    return this.#store.unreadCount(requireReader(reader));
  }

  /** Marks all items up to this id as read. Never moves back. Returns the new place. */
  async markRead(upTo: number, reader: string = this.#reader): Promise<number> {
    return this.#store.moveCursor(requireReader(reader), requireCount("upTo", upTo, 0));
  }

  /**
   * Calls `listener` with every new item of all processes, in order and once. Returns the unsubscribe
   * function.
   */
  on(listener: (item: InboxItem) => void): () => void {
    const { subscribe } = this.#store;
    return followInbox(
      {
        readInbox: async (query) => this.#withQuestions(await this.#store.readInbox(query)),
        subscribe: subscribe.bind(this.#store),
      },
      listener,
    );
  }

  /** Answers an ask. Throws "unknown-ask" or "ask-closed" without writing anything. */
  async answer(askId: string, text: string): Promise<void> {
    const outcome = await this.tryAnswer(askId, text);
    if (!outcome.accepted) throw new MandateError("ask-closed", outcome.reason);
  }

  /** Like `answer`, but returns a closed ask as an outcome. */
  async tryAnswer(askId: string, text: string): Promise<AnswerOutcome> {
    return answerAsk(this.#store, askId, text);
  }
}

const unreadKeys = { reader: true, limit: true } satisfies Keys<UnreadQuery>;

const selectionKeys = {
  after: true,
  before: true,
  limit: true,
  kinds: true,
  openOnly: true,
  runId: true,
} satisfies Keys<InboxSelection>;

function queryOf(selection: InboxSelection): InboxQuery {
  requireKnownKeys("inbox.read", selection, selectionKeys);
  const { after, before, limit = 50, kinds, openOnly, runId } = selection;
  for (const kind of kinds ?? []) {
    if (inboxKinds.includes(kind)) continue;
    const known = inboxKinds.join(", ");
    throw new MandateError("usage", `Unknown kind of inbox item: "${kind}". Known: ${known}.`);
  }
  return {
    limit: Math.min(requireCount("limit", limit, 1), mostInboxItems),
    ...(after !== undefined && { after: requireCount("after", after, 0) }),
    ...(before !== undefined && { before: requireCount("before", before, 0) }),
    ...(kinds !== undefined && { kinds }),
    ...(openOnly !== undefined && { openOnly }),
    ...(runId !== undefined && { runId }),
  };
}

function requireCount(name: string, value: number, least: number): number {
  if (Number.isSafeInteger(value) && value >= least) return value;
  throw new MandateError(
    "usage",
    `${name} must be a whole number of at least ${least}, not ${value}.`,
  );
}

/** Names of readers are stored and shown to people. */
function requireReader(reader: string): string {
  if (/^[^\p{C}\p{Zl}\p{Zp}]{1,200}$/u.test(reader) && reader.trim() === reader) return reader;
  throw new MandateError(
    "usage",
    "A reader's name has 1 to 200 visible characters, with no space before or after.",
  );
}

const pageSize = 200;
/** The delay after a failed read of the database. */
const againMs = 1000;

/**
 * Calls `listener` with every new item of all processes, in order and once. Returns the unsubscribe
 * function. Events only trigger a read: listeners get stored items.
 */
export function followInbox(
  store: Pick<InboxStore, "readInbox"> & Pick<Store, "subscribe">,
  listener: (item: InboxItem) => void,
  clock: Clock = systemClock,
): () => void {
  let position: number | undefined;
  let isNews = false;
  let isTelling = false;
  let isWanted = true;

  async function tellAll(): Promise<void> {
    // Subscribers may be called during a transaction, which has ended after this.
    await undefined;
    while (isWanted && isNews) {
      isNews = false;
      const items = await store.readInbox({ after: position ?? 0, limit: pageSize });
      for (const item of items) {
        if (!isWanted) return;
        position = item.id;
        tell(item);
      }
      if (items.length === pageSize) isNews = true;
    }
    // Set synchronously after the last read, so that no event is missed in between.
    isTelling = false;
  }

  function tell(item: InboxItem): void {
    try {
      listener(item);
    } catch (error) {
      // The listener failed; the remaining items are still delivered.
      process.emitWarning(error instanceof Error ? error : String(error));
    }
  }

  const unsubscribe = store.subscribe((events) => {
    const first = events.find(({ type }) => isInboxType(type));
    if (first === undefined) return;
    position ??= first.seq - 1;
    isNews = true;
    if (isTelling) return;
    isTelling = true;
    lookAgain();
  });

  function lookAgain(): void {
    tellAll().catch((error: unknown) => {
      // The store was closed: there are no more items.
      if (!isWanted || (error instanceof MandateError && error.code === "closed")) return;
      // The unread items are read again later.
      isNews = true;
      clock.after(againMs, lookAgain).unref();
    });
  }

  return () => {
    isWanted = false;
    unsubscribe();
  };
}
