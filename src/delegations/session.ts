import type { ToolCall } from "../ports/model.ts";
import type { ToolResult } from "../tools/tool.ts";
import { event, type LiveDelegation } from "./live-delegation.ts";
import { interruptRoot } from "./suspend/interrupt.ts";
import { performCall } from "./turns/perform-calls.ts";
import { forgetUnwritten } from "./work.ts";

export interface SessionCallOptions {
  readonly signal?: AbortSignal | undefined;
  /** Told the id of each delegation that the call makes. */
  readonly onDelegation?: ((delegationId: string) => void) | undefined;
}

/**
 * An agent that another program runs, as the root of a run of ours. We see its calls, not its turns.
 */
export class Session {
  readonly #live: LiveDelegation;
  #calls = 0;

  constructor(live: LiveDelegation) {
    this.#live = live;
    live.process.time.begin();
    live.record(
      event(live, "agent.subagent_started", { strategy: "external" }),
      event(live, "agent.subagent_attempt", { attempt: 1, of: 1 }),
    );
  }

  get runId(): string {
    return this.#live.run.id;
  }

  get delegationId(): string {
    return this.#live.id;
  }

  /** The tools that the session's contract grants. */
  get tools(): readonly string[] {
    return this.#live.contract.permissions.allowed_tools;
  }

  /**
   * Calls a tool on behalf of the other program's agent; the result is on disk when it is given.
   * Aborting the signal cancels what this call has delegated; it still gives its result.
   */
  async call(tool: string, input: unknown, options: SessionCallOptions = {}): Promise<ToolResult> {
    const call: ToolCall = { id: `call_${++this.#calls}`, name: tool, input };
    const forget = this.#follow(call.id, options);
    try {
      await forgetUnwritten(this.#live);
      const result = await performCall(this.#live, { call, started: false }, { withdrawn: false });
      await this.#live.process.appends.durable();
      return result;
    } finally {
      forget();
    }
  }

  /** Hears of what a call delegates, also of what it was still making when it was taken back. */
  #follow(callId: string, { onDelegation, signal }: SessionCallOptions): () => void {
    if (onDelegation === undefined && signal === undefined) return () => undefined;
    const { id: own, run } = this.#live;
    const started: string[] = [];
    const cancel = (id: string): void => {
      const child = run.delegations.byId.get(id);
      if (child === undefined) return;
      // That it ends is decided; where that cannot be written now, it is as soon as it can be.
      run.execution.cancel(child, { code: "call_withdrawn" }).catch(() => undefined);
    };
    const cancelAll = (): void => started.forEach(cancel);
    const unsubscribe = run.parts.store.subscribe((events) => {
      for (const { type, payload, sub_agent_id: id } of events) {
        if (type !== "agent.subagent_created" || payload.parent_id !== own || !id) continue;
        // A plan's steps have a key behind the id of their call.
        if (payload.call_id !== callId && !payload.call_id?.startsWith(`${callId}/`)) continue;
        started.push(id);
        if (signal?.aborted) cancel(id);
        onDelegation?.(id);
      }
    });
    signal?.addEventListener("abort", cancelAll, { once: true });
    return () => {
      unsubscribe();
      signal?.removeEventListener("abort", cancelAll);
    };
  }

  /**
   * Ends the session, and whatever runs below it as the contract of each says. It does not wait for
   * those who go on: while this process lives it works on them, and after it the next one does. Safe
   * to repeat.
   */
  async close(): Promise<void> {
    await forgetUnwritten(this.#live);
    await interruptRoot(this.#live, { code: "session_closed" });
  }
}
