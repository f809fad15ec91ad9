import type { Delegation } from "../events/delegation.ts";
import { childrenOf, type RunState, subtree } from "../events/run-state.ts";
import type { Clock } from "../ports/clock.ts";
import type { DelegationResult } from "../ports/delegator.ts";
import { MandateError } from "../ports/mandate-error.ts";
import type { Store } from "../ports/store.ts";
import { resultOf } from "./delegation-result.ts";

/** A delegation of an earlier message, with the run that it belongs to. */
export interface EarlierDelegation {
  readonly run: RunState;
  readonly delegation: Delegation;
}

/** The message that asks: its run, the root that it continues, and what its run has delivered. */
interface LaterMessage {
  readonly runId: string;
  readonly resumedFrom: string;
  readonly store: Store;
  readonly clock: Clock;
  readonly delivered: { has(id: string): boolean };
}

/**
 * The sub-agents of a session's earlier messages. Each message is a run of its own, and children of
 * an earlier one may still be open: in this process, in another one, or in none. The log says all of
 * that, so that a later message sees them after a restart as well.
 */
export class SessionChildren {
  readonly #of: LaterMessage;
  #roots: Promise<readonly { runId: string; rootId: string }[]> | null = null;
  /** Background children that ended, or will, and that no message was told of; null: not read yet. */
  #untold: Set<string> | null = null;

  constructor(of: LaterMessage) {
    this.#of = of;
  }

  /** The runs of all earlier messages, the latest first. */
  async *#earlier(): AsyncGenerator<{ run: RunState; rootId: string }> {
    this.#roots ??= rootsBefore(this.#of);
    for (const { rootId, runId } of await this.#roots) {
      const run = await this.#of.store.readRun(runId);
      if (run !== undefined) yield { run, rootId };
    }
  }

  async find(id: string): Promise<EarlierDelegation | undefined> {
    for await (const { rootId, run } of this.#earlier()) {
      const delegation = run.delegations.get(id);
      if (delegation === undefined) continue;
      return isBelow(run, delegation, rootId) ? { run, delegation } : undefined;
    }
    return undefined;
  }

  async all(): Promise<readonly EarlierDelegation[]> {
    const found: EarlierDelegation[] = [];
    for await (const { rootId, run } of this.#earlier()) {
      for (const delegation of subtree(run, rootId)) {
        if (delegation.id !== rootId) found.push({ run, delegation });
      }
    }
    return found;
  }

  /** Direct children whose results no message was given. */
  async notDelivered(): Promise<readonly string[]> {
    const delivered = new Set<string>();
    const children: string[] = [];
    for await (const { rootId, run } of this.#earlier()) {
      const types = ["agent.tool_completed"] as const;
      for await (const event of this.#of.store.readEvents({ runId: run.id, types })) {
        if (event.type !== "agent.tool_completed") continue;
        for (const id of event.payload.delivered ?? []) delivered.add(id);
      }
      children.unshift(...childrenOf(run, rootId).map(({ id }) => id));
    }
    return children.filter((id) => !delivered.has(id) && !this.#of.delivered.has(id));
  }

  /** Resolves when it has closed, in whichever process. */
  async closed(id: string, signal: AbortSignal): Promise<DelegationResult | null> {
    const found = await this.find(id);
    if (found === undefined) return null;
    return untilClosed(this.#of, { runId: found.run.id, id, signal });
  }

  /** Background children that have closed since the last message, each once. */
  async ended(): Promise<readonly Delegation[]> {
    this.#untold ??= await this.#readUntold();
    const ended: Delegation[] = [];
    for (const id of this.#untold) {
      const found = await this.find(id);
      if (found?.delegation.status !== "closed") continue;
      this.#untold.delete(id);
      if (!this.#of.delivered.has(id)) ended.push(found.delegation);
    }
    return ended;
  }

  async #readUntold(): Promise<Set<string>> {
    const left = new Set<string>();
    const known = new Set<string>();
    const runs = [this.#of.runId];
    for await (const { rootId, run } of this.#earlier()) {
      const root = run.delegations.get(rootId);
      const output = root !== undefined && "output" in root ? root.output : null;
      for (const id of output?.running ?? []) left.add(id);
      runs.push(run.id);
    }
    if (left.size === 0) return left;
    const types = ["agent.tool_completed", "agent.interjected"] as const;
    for (const runId of runs) {
      for await (const event of this.#of.store.readEvents({ runId, types })) {
        if (event.type === "agent.tool_completed") {
          for (const id of event.payload.delivered ?? []) known.add(id);
        } else if (event.type === "agent.interjected") {
          const { cause } = event.payload;
          if (cause?.code === "child_ended") known.add(cause.child.id);
        }
      }
    }
    for (const id of known) left.delete(id);
    return left;
  }
}

async function rootsBefore({
  resumedFrom,
  store,
}: LaterMessage): Promise<readonly { runId: string; rootId: string }[]> {
  const roots: { runId: string; rootId: string }[] = [];
  for (let id: string | null = resumedFrom; id !== null; ) {
    const runId = await store.findRun(id);
    const state = runId === undefined ? undefined : await store.readRun(runId);
    const root: Delegation | undefined = state?.delegations.get(id);
    // What was pruned, or began as a fork, ends the line.
    if (runId === undefined || root === undefined || roots.some((one) => one.rootId === id)) break;
    roots.push({ runId, rootId: id });
    id = root.resumedAt === null ? root.resumedFrom : null;
  }
  return roots;
}

function isBelow(run: RunState, delegation: Delegation, rootId: string): boolean {
  for (let one: Delegation | undefined = delegation; one !== undefined; ) {
    if (one.parentId === rootId) return true;
    one = one.parentId === null ? undefined : run.delegations.get(one.parentId);
  }
  return false;
}

/** How often the log is read while a delegation of another process is awaited, events or not. */
const lookMs = 2000;

/**
 * The result of a delegation when it has closed, in whichever process. Looking keeps this process
 * alive, until the store is closed or the signal aborts: then it never resolves.
 */
export function untilClosed(
  { clock, store }: { readonly clock: Clock; readonly store: Store },
  { id, runId, signal }: { runId: string; id: string; signal?: AbortSignal },
): Promise<DelegationResult> {
  return new Promise((resolve) => {
    const look = async (): Promise<void> => {
      const run = await store.readRun(runId);
      const result = run && resultOf(run, id);
      if (!result) return;
      stop();
      resolve(result);
    };
    const lookNow = (): void => void look().catch((error: unknown) => wasClosed(error) && stop());
    const forget = store.subscribe((events) => {
      const isEnd = events.some(
        ({ payload, type }) => type === "agent.subagent_closed" && payload.sub_agent_id === id,
      );
      if (isEnd) lookNow();
    });
    const looking = clock.every(lookMs, lookNow);
    const stop = (): void => {
      looking.cancel();
      forget();
      signal?.removeEventListener("abort", stop);
    };
    if (signal?.aborted) stop();
    signal?.addEventListener("abort", stop, { once: true });
    lookNow();
  });
}

function wasClosed(error: unknown): boolean {
  return error instanceof MandateError && error.code === "closed";
}
