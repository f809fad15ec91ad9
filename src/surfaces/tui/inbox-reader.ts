import { labelOf } from "../../application/commands/describe-run.ts";
import { KeptWork } from "../../application/kept-work/kept-work.ts";
import type { RecordedCall } from "../../events/event.ts";
import type { InboxItem } from "../../events/inbox-item.ts";
import type { Clock, Timer } from "../../ports/clock.ts";
import { mostInboxItems, type Store } from "../../ports/store.ts";
import { revealHidden, visibleJson } from "../../ports/visible-text.ts";
import { Inbox } from "../../sessions/inbox.ts";
import type { ChatInbox, WholeQuestion } from "./chat-state.ts";
import { patchOfCall } from "./entry.ts";

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
  /** Ids after the reader's place. */
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
    const { ask, delegationId = "", kind, runId, title } = item;
    const known = this.#wholes.get(ask?.id ?? "");
    if (known !== undefined) return known;
    const text = ask?.question ?? item.text;
    const run = await this.#store.readRun(runId);
    const asking = run?.delegations.get(delegationId);
    const from = { who: asking === undefined ? title : labelOf(asking), task: run?.task ?? "" };
    if (kind !== "approval") return { ...from, text };
    const about = await this.#subjectOf(item);
    if (about?.callId === mergeCall && !text.includes("\ndiff --git ")) {
      return { ...from, text, ...(await this.#changesOf(delegationId)) };
    }
    const input = about?.call?.input;
    const patch = patchOfCall(input);
    if (patch === undefined) return { ...from, text };
    // The diff shows all of the call, hidden characters included: its JSON would only repeat it.
    return { ...from, text: withoutInput(text, input), patch: revealHidden(patch) };
  }

  /** A diff that was too long for its question. */
  async #changesOf(id: string): Promise<Pick<WholeQuestion, "patch">> {
    const work = new KeptWork({ store: this.#store, home: this.#around.home });
    const diff = await work.diff(id, { maximumBytes: mostOfDiff }).catch(() => undefined);
    return diff === undefined ? {} : { patch: revealHidden(diff.text) };
  }

  /** What an approval is about: a call of the agent, or the merge of its changes. */
  async #subjectOf({ id: seq, runId }: InboxItem): Promise<Subject | undefined> {
    const types = ["agent.model_turn", "agent.asked"] as const;
    const calls = new Map<string | undefined, readonly RecordedCall[]>();
    for await (const event of this.#store.readEvents({ runId, types })) {
      const by = event.sub_agent_id;
      if (event.type === "agent.model_turn") calls.set(by, event.payload.calls ?? []);
      if (event.type !== "agent.asked" || event.seq !== seq) continue;
      const { call_id: callId } = event.payload;
      return { callId, call: calls.get(by)?.find((call) => call.id === callId) };
    }
    return undefined;
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

interface Subject {
  readonly callId: string;
  readonly call: RecordedCall | undefined;
}

/** The id in place of a call's, in an approval of changes. */
const mergeCall = "merge";
/** Of a diff in a question; the page of the delegation has more. */
const mostOfDiff = 100_000;

/** The question with the path in place of the input, where it has all of the input. */
function withoutInput(text: string, input: unknown): string {
  const given = input as { readonly path: string };
  // The gate shows the input with its defaults.
  const shown = [given, { ...given, replace_all: false }].map((each) => visibleJson(each));
  const json = shown.find((each) => text.includes(each));
  return json === undefined ? text : text.replace(json, () => visibleJson(given.path));
}
