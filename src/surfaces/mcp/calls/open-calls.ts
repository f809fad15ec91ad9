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

/** As long as a client may take to come back with an answer. */
const patienceMs = 60 * 60_000;
const mostCalls = 1000;

/**
 * The calls of one client that are under way, and the questions of agents that they bring to its
 * person: each question to one call, best to the one that delegated to whoever asks.
 */
export class OpenCalls {
  readonly #store: QuestionSource;
  readonly #runIds: () => readonly string[];
  readonly #clock: Clock;
  readonly #calls = new Map<string, OpenCall>();
  /** By question: who shows it. */
  readonly #put = new Map<string, Showing>();
  /** The person did not want to answer; asked again and again nobody likes to be. */
  readonly #declined = new Set<string>();
  #unsubscribe: (() => void) | undefined;

  constructor(store: QuestionSource, runIds: () => readonly string[], clock: Clock) {
    this.#store = store;
    this.#runIds = runIds;
    this.#clock = clock;
  }

  /** `asks`: the client can be brought questions while this call is open. */
  begin(tool: string, asks: boolean, work: (call: OpenCall) => Promise<McpToolResult>): OpenCall {
    const call = new OpenCall(randomUUID(), tool, work);
    if (!asks) return call;
    this.#forgetOldest();
    this.#calls.set(call.key, call);
    this.#unsubscribe ??= this.#store.subscribe((events) => this.#hear(events));
    void this.#offerAll();
    return call;
  }

  /** The same call again, for a client that comes back to it. */
  find(key: string, tool: string): OpenCall | undefined {
    const call = this.#calls.get(key);
    return call?.tool === tool ? call : undefined;
  }

  /** Its client may come back to it, or never. */
  keep(call: OpenCall): void {
    this.#clock.after(patienceMs, () => this.end(call)).unref();
  }

  /** Its result was handed over, or nobody wants it any more. */
  end(call: OpenCall): void {
    if (!this.#calls.delete(call.key)) return;
    for (const [id, { call: owner, over }] of this.#put) {
      if (owner !== call) continue;
      over.abort();
      this.#put.delete(id);
    }
    if (this.#calls.size > 0) {
      void this.#offerAll();
      return;
    }
    this.#unsubscribe?.();
    this.#unsubscribe = undefined;
  }

  decline(questionId: string): void {
    this.#declined.add(questionId);
  }

  close(): void {
    for (const call of [...this.#calls.values()]) this.end(call);
  }

  #hear(events: readonly StoredEvent[]): void {
    const runs = this.#runIds();
    let isNews = false;
    for (const { payload, run_id: runId, type } of events) {
      if (!runs.includes(runId)) continue;
      if (type === "agent.asked") isNews = true;
      if (type === "agent.answered") this.#isOver(payload.ask_id);
      // Whoever ends asks nothing any more.
      if (type === "agent.subagent_closed") void this.#withdrawStale(runId);
    }
    if (isNews) void this.#offerAll();
  }

  #isOver(questionId: string): void {
    this.#put.get(questionId)?.over.abort();
    this.#put.delete(questionId);
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
      // A store that was closed meanwhile has nothing more to tell.
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
  /** Aborts when it has an answer from elsewhere, or none in time. */
  readonly isOver: AbortSignal;
}

/** A call under way. It can outlive the request that made it while its client looks for an answer. */
export class OpenCall {
  readonly key: string;
  readonly tool: string;
  /** What it delegated. */
  readonly made: string[] = [];
  readonly control = new AbortController();
  /** Tells whoever waits for it at the moment. */
  report: (progress: CallProgress) => void = () => undefined;
  /** What was told so far is on its way. */
  told: Promise<void> = Promise.resolve();
  onDelegation: (delegationId: string) => void = () => undefined;
  result: Promise<McpToolResult>;
  isSettled = false;
  /** Handed to this call and not yet shown to anybody. */
  #waiting: PutQuestion[] = [];
  #shown = new Map<string, OpenQuestion>();
  #wake: (() => void) | undefined;

  constructor(key: string, tool: string, work: (call: OpenCall) => Promise<McpToolResult>) {
    this.key = key;
    this.tool = tool;
    this.result = work(this).finally(() => {
      this.isSettled = true;
    });
    // Whoever waits for it hears of it; between two requests of a client nobody does.
    this.result.catch(() => undefined);
  }

  put(question: PutQuestion): void {
    this.#waiting.push(question);
    this.#wake?.();
  }

  /** Gives out what waits to be shown. */
  take(): readonly PutQuestion[] {
    const taken = this.#waiting.filter(({ isOver }) => !isOver.aborted);
    this.#waiting = [];
    for (const { question } of taken) this.#shown.set(question.id, question);
    return taken;
  }

  /** A question that was shown: its reply is taken once. */
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
