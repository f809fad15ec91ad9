import type { CallProgress, McpToolResult } from "../mcp-tool.ts";
import type { OpenQuestion } from "./open-question.ts";

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
