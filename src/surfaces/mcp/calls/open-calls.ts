import { randomUUID } from "node:crypto";
import type { StoredEvent } from "../../../events/event.ts";
import type { Clock } from "../../../ports/clock.ts";
import type { Store } from "../../../ports/store.ts";
import type { CallProgress, McpToolResult } from "../mcp-tool.ts";
import { type OpenQuestion, openQuestions } from "./open-question.ts";

type QuestionSource = Pick<Store, "readRun" | "subscribe">;

interface Showing {
  readonly call: OpenCall;
  readonly runId: string;
  readonly over: AbortController;
}

/** How long a client may take to return with a reply. */
const patienceMs = 60 * 60_000;
const mostCalls = 1000;

/**
 * The open calls of one client, and the questions of agents that they show to its user. Each
 * question goes to one call, preferably to the one that delegated to the asking agent.
 */
export class OpenCalls {
  readonly #store: QuestionSource;
  readonly #runIds: () => readonly string[];
  readonly #clock: Clock;
  readonly #calls = new Map<string, OpenCall>();
  /** The call that shows a question, by the question. */
  readonly #put = new Map<string, Showing>();
  /** Questions that the user declined; they are not shown again. */
  readonly #declined = new Set<string>();
  #unsubscribe: (() => void) | undefined;

  constructor(store: QuestionSource, runIds: () => readonly string[], clock: Clock) {
    this.#store = store;
    this.#runIds = runIds;
    this.#clock = clock;
  }

  /** `asks`: questions can be shown to the client while this call is open. */
  begin(tool: string, asks: boolean, work: (call: OpenCall) => Promise<McpToolResult>): OpenCall {
    const call = new OpenCall(randomUUID(), tool, work);
    if (!asks) return call;
    this.#forgetOldest();
    this.#calls.set(call.key, call);
    this.#unsubscribe ??= this.#store.subscribe((events) => this.#hear(events));
    void this.#offerAll();
    return call;
  }

  /** Finds an open call, for a client that returns to it. */
  find(key: string, tool: string): OpenCall | undefined {
    const call = this.#calls.get(key);
    return call?.tool === tool ? call : undefined;
  }

  /** Ends the call later, in case its client never returns. */
  keep(call: OpenCall): void {
    this.#clock.after(patienceMs, () => this.end(call)).unref();
  }

  /** Forgets a call whose result was delivered or that was cancelled. */
  end(call: OpenCall): void {
    if (!this.#calls.delete(call.key)) return;
    for (const [id, { call: owner, over }] of this.#put) {
      if (owner !== call) continue;
      over.abort();
      this.#put.delete(id);
    }
    if (this.#calls.size > 0) void this.#offerAll();
    this.#rest();
  }

  /** The call was answered, and its work continues: open forms stay, and new ones go elsewhere. */
  leave(call: OpenCall): void {
    this.#calls.delete(call.key);
    this.#rest();
  }

  decline(questionId: string): void {
    this.#declined.add(questionId);
  }

  close(): void {
    this.#calls.clear();
    for (const id of [...this.#put.keys()]) this.#isOver(id);
    this.#rest();
  }

  #hear(events: readonly StoredEvent[]): void {
    const runs = this.#runIds();
    let isNews = false;
    for (const { payload, run_id: runId, type } of events) {
      if (!runs.includes(runId)) continue;
      if (type === "agent.asked") isNews = true;
      if (type === "agent.answered") this.#isOver(payload.ask_id);
      // A closed delegation has no open question.
      if (type === "agent.subagent_closed") void this.#withdrawStale(runId);
    }
    if (isNews) void this.#offerAll();
  }

  #isOver(questionId: string): void {
    this.#put.get(questionId)?.over.abort();
    this.#put.delete(questionId);
    this.#rest();
  }

  #rest(): void {
    if (this.#calls.size > 0 || this.#put.size > 0) return;
    this.#unsubscribe?.();
    this.#unsubscribe = undefined;
  }

  async #withdrawStale(runId: string): Promise<void> {
    if (this.#put.size === 0) return;
    const run = await this.#store.readRun(runId).catch(() => undefined);
    if (run === undefined) return;
    const open = new Set(openQuestions(run).map(({ id }) => id));
    for (const [id, put] of [...this.#put]) {
      if (put.runId === runId && !open.has(id)) this.#isOver(id);
    }
  }

  async #offerAll(): Promise<void> {
    for (const runId of this.#runIds()) {
      // The store may have been closed by now.
      const run = await this.#store.readRun(runId).catch(() => undefined);
      if (run !== undefined) for (const question of openQuestions(run)) this.#offer(question);
    }
  }

  #offer(question: OpenQuestion): void {
    if (this.#put.has(question.id) || this.#declined.has(question.id)) return;
    const calls = [...this.#calls.values()].filter(({ isSettled }) => !isSettled);
    const own = calls.find(({ made }) => made.some((id) => question.line.includes(id)));
    const call = own ?? calls[0];
    if (call === undefined) return;
    const over = new AbortController();
    this.#put.set(question.id, { call, over, runId: question.runId });
    call.put({ question, isOver: over.signal });
  }

  #forgetOldest(): void {
    const [oldest] = this.#calls.values();
    if (this.#calls.size >= mostCalls && oldest !== undefined) this.end(oldest);
  }
}

export interface PutQuestion {
  readonly question: OpenQuestion;
  /** Aborts when the question was answered elsewhere or has expired. */
  readonly isOver: AbortSignal;
}

/** An open call. It can outlive its request, while the client collects replies. */
export class OpenCall {
  readonly key: string;
  readonly tool: string;
  /** The delegations that the call made. */
  readonly made: string[] = [];
  readonly control = new AbortController();
  /** Sends progress to the request that waits at the moment. */
  report: (progress: CallProgress) => void = () => undefined;
  /** Resolves when the last report was sent. */
  told: Promise<void> = Promise.resolve();
  onDelegation: (delegationId: string) => void = () => undefined;
  result: Promise<McpToolResult>;
  isSettled = false;
  /** Questions of this call that were not shown yet. */
  #waiting: PutQuestion[] = [];
  #shown = new Map<string, OpenQuestion>();
  #wake: (() => void) | undefined;

  constructor(key: string, tool: string, work: (call: OpenCall) => Promise<McpToolResult>) {
    this.key = key;
    this.tool = tool;
    this.result = work(this).finally(() => {
      this.isSettled = true;
    });
    // Between two requests of the client nothing awaits this promise.
    this.result.catch(() => undefined);
  }

  put(question: PutQuestion): void {
    this.#waiting.push(question);
    this.#wake?.();
  }

  /** Takes the questions that wait to be shown. */
  take(): readonly PutQuestion[] {
    const taken = this.#waiting.filter(({ isOver }) => !isOver.aborted);
    this.#waiting = [];
    for (const { question } of taken) this.#shown.set(question.id, question);
    return taken;
  }

  /** Takes a shown question, whose reply counts once. */
  shown(id: string): OpenQuestion | undefined {
    const question = this.#shown.get(id);
    this.#shown.delete(id);
    return question;
  }

  whenQuestion(): Promise<void> {
    if (this.#waiting.some(({ isOver }) => !isOver.aborted)) return Promise.resolve();
    return new Promise((resolve) => {
      this.#wake = resolve;
    });
  }
}
