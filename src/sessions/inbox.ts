import { type Keys, requireKnownKeys } from "../agents/documents/nearest-key.ts";
import { openAskOf } from "../events/delegation.ts";
import { type InboxItem, inboxKinds, isInboxType } from "../events/inbox-item.ts";
import { type Clock, systemClock } from "../ports/clock.ts";
import { MandateError } from "../ports/mandate-error.ts";
import { type InboxQuery, type InboxStore, mostInboxItems, type Store } from "../ports/store.ts";
import { stripHidden } from "../ports/visible-text.ts";
import { type AnswerOutcome, answerAsk } from "./answer-ask.ts";

/** What an inbox needs of a store. */
export type InboxSource = InboxStore &
  Pick<Store, "append" | "findRun" | "readEvents" | "readRun" | "subscribe">;

export interface InboxOptions {
  /** The reader when none is named. */
  readonly reader?: string;
}

/** `limit`: fifty when it is not said. */
export type InboxSelection = Omit<InboxQuery, "limit"> & { readonly limit?: number };

export interface UnreadQuery {
  readonly reader?: string;
  readonly limit?: number;
}

/**
 * The inbox as surfaces use it. Reading takes nothing out and marks nothing: `markRead` does, for
 * one reader, and the others still have theirs before them.
 */
export class Inbox {
  readonly #store: InboxSource;
  readonly #reader: string;

  constructor(store: InboxSource, options: InboxOptions = {}) {
    this.#store = store;
    this.#reader = requireReader(options.reader ?? "local");
  }

  /** The last items in the order in which they happened, or those after a place. */
  async read(selection: InboxSelection = {}): Promise<readonly InboxItem[]> {
    return this.#withQuestions(await this.#store.readInbox(queryOf(selection)));
  }

  /** An item stores the beginning of a question; a person who decides needs all of it. */
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

  /** What still waits for an answer, from whatever depth, the oldest first. */
  async open(selection: Omit<InboxSelection, "openOnly"> = {}): Promise<readonly InboxItem[]> {
    return this.read({ after: 0, ...selection, openOnly: true });
  }

  /** The first items that a reader has not seen. */
  async unread(query: UnreadQuery = {}): Promise<readonly InboxItem[]> {
    requireKnownKeys("inbox.unread", query, unreadKeys);
    const { reader, limit } = query;
    const after = await this.seen(reader);
    return this.read({ after, ...(limit !== undefined && { limit }) });
  }

  /** The place up to which a reader has seen it. */
  async seen(reader: string = this.#reader): Promise<number> {
    return this.#store.readCursor(requireReader(reader));
  }

  /** A thousand stands for as many, or more. */
  async unreadCount(reader: string = this.#reader): Promise<number> {
    return this.#store.unreadCount(requireReader(reader));
  }

  /** A reader has seen everything up to this item. Never unsees. Gives the place where it is then. */
  async markRead(upTo: number, reader: string = this.#reader): Promise<number> {
    return this.#store.moveCursor(requireReader(reader), requireCount("upTo", upTo, 0));
  }

  /**
   * Calls back with every item that comes from now on, in order and once, whichever process it came
   * from. Gives what ends that.
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

  /** Answers an ask. Throws "unknown-ask" or "ask-closed", and has written nothing then. */
  async answer(askId: string, text: string): Promise<void> {
    const outcome = await this.tryAnswer(askId, text);
    if (!outcome.accepted) throw new MandateError("ask-closed", outcome.reason);
  }

  /** The same for those who look at the outcome themselves. */
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
    throw new MandateError("usage", `There is no kind "${kind}" in an inbox. There are: ${known}.`);
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
  throw new MandateError("usage", `${name} must be a whole number from ${least} on, not ${value}.`);
}

/** A name is never deleted, and is shown to people. */
function requireReader(reader: string): string {
  if (/^[^\p{C}\p{Zl}\p{Zp}]{1,200}$/u.test(reader) && reader.trim() === reader) return reader;
  throw new MandateError(
    "usage",
    "A reader's name has 1 to 200 visible characters, with no space before or after.",
  );
}

const pageSize = 200;
/** After a database that could not be read. */
const againMs = 1000;

/**
 * Calls back with every item that comes from now on, in order and once, whichever process it came
 * from. Gives what ends that. Events only say that it is time to look: what is reported is what is
 * stored, so no listener gets an item that cannot be read.
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
    // Events may be heard of in the middle of a transaction; after this it is over.
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
    // In the same step in which it was seen that there is no more: no listener can be missed between.
    isTelling = false;
  }

  function tell(item: InboxItem): void {
    try {
      listener(item);
    } catch (error) {
      // A listener failed; the rest of the items are delivered all the same.
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
      // The store was closed: no more items will come.
      if (!isWanted || (error instanceof MandateError && error.code === "closed")) return;
      // What could not be read is still there, after the last item that was told.
      isNews = true;
      clock.after(againMs, lookAgain).unref();
    });
  }

  return () => {
    isWanted = false;
    unsubscribe();
  };
}
