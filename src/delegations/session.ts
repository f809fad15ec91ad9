import type { Cause } from "../events/cause.ts";
import type { DelegationResult } from "../ports/delegator.ts";
import type { ToolCall } from "../ports/model.ts";
import type { ToolResult } from "../tools/tool.ts";
import { closeWith } from "./ends/close.ts";
import { failure } from "./ends/ending.ts";
import { event, type LiveDelegation } from "./live-delegation.ts";
import { ProgramRequests } from "./program-requests.ts";
import { interruptRoot } from "./suspend/interrupt.ts";
import { performCall } from "./turns/perform-calls.ts";
import { endWork, forgetUnwritten } from "./work.ts";

export interface SessionCallOptions {
  readonly signal?: AbortSignal | undefined;
  /** Told the id of each delegation that the call makes. */
  readonly onDelegation?: ((delegationId: string) => void) | undefined;
}

/**
 * An agent that another program runs, as the root of a run of ours. We see its calls, and its turns only
 * where its requests to models pass through Mandate.
 */
export class Session {
  readonly requests: ProgramRequests;
  readonly #live: LiveDelegation;
  #calls = 0;

  constructor(live: LiveDelegation) {
    this.#live = live;
    this.requests = new ProgramRequests(live);
    live.work.onStop((reason) => {
      // Only the total deadline closes the session here: other stops close it where they happen.
      if (reason.cause.code === "total_deadline") void endWork(live, reason);
    });
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

  /** Resolves when the session has closed. */
  get closed(): Promise<DelegationResult> {
    return this.#live.process.end.whenClosed();
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
      // The child ends in any case: if the end cannot be written now, it is written as soon as it can be.
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

  /**
   * Ends the session because the program has ended: with what it said of its end, or with the cause of
   * its failure. A budget that refused a request is the reason of either.
   */
  async end(outcome: { readonly said: string } | { readonly failed: Cause }): Promise<void> {
    const live = this.#live;
    await forgetUnwritten(live);
    const { exhaustedBy } = this.requests;
    const isExhausted = exhaustedBy !== null || live.state.overrun === true;
    if ("said" in outcome) {
      const reason = isExhausted ? ("budget_exhausted" as const) : null;
      const output = {
        kind: "output",
        text: outcome.said,
        truncated: isExhausted,
        reason,
      } as const;
      await closeWith(live, output);
    } else {
      const spent: Cause | null = live.state.overrun ? { code: "budget_overrun" } : exhaustedBy;
      await closeWith(live, failure(spent ?? outcome.failed));
    }
    await live.process.end.closing;
  }
}
