import type { EventType, StoredEvent } from "../../events/event.ts";
import type { RunState } from "../../events/run-state.ts";
import { followCalls, type LiveDelegation, type MutableCalls } from "../live-delegation.ts";
import { standsStill } from "../working-time.ts";

/**
 * Which delegations below the one of this process only wait for a person, by the log that all workers
 * write: while they do, the time of their ancestors stands still on every machine.
 */
export class StillBelow {
  readonly #calls = new Map<string, MutableCalls>();
  readonly #still = new Set<string>();
  /** How many children of each delegation stand still. */
  readonly #below = new Map<string, number>();
  #of: { readonly here: LiveDelegation; readonly log: RunState } | null = null;
  /** Events that arrived while the log was read: they count after it. */
  #early: StoredEvent[] = [];

  /** An event of the log as it is read, in order, before `begin`. */
  read(event: StoredEvent): void {
    if (tracked.has(event.type)) this.#follow(event);
  }

  /** Reads the log so far; from then on, `see` gets each new event. */
  begin(here: LiveDelegation, log: RunState): void {
    this.#of = { here, log };
    for (const event of this.#early) this.#follow(event);
    this.#early = [];
    const waiting = [...log.delegations.childrenOf(here.id)];
    for (let one = waiting.pop(); one !== undefined; one = waiting.pop()) {
      waiting.push(...log.delegations.childrenOf(one.id));
      this.#consider(one.id);
    }
  }

  see(event: StoredEvent): void {
    if (!tracked.has(event.type)) return;
    if (this.#of === null) {
      this.#early.push(event);
      return;
    }
    // Nearly all delegations of a large run have no children.
    if (this.#of.here.process.children.length === 0) return;
    const { sub_agent_id: id = "" } = event;
    if (!this.#isBelow(id)) return;
    this.#follow(event);
    this.#consider(id);
  }

  /** The log as it moves from now on; until the claim was written, it was a copy. */
  follow(log: RunState): void {
    if (this.#of === null) return;
    this.begin(this.#of.here, log);
  }

  #follow(event: StoredEvent): void {
    const { sub_agent_id: id = "", type } = event;
    if (type === "agent.subagent_closed") {
      this.#calls.delete(id);
      return;
    }
    let calls = this.#calls.get(id);
    if (calls === undefined) {
      if (type !== "agent.tool_started") return;
      calls = new Map();
      this.#calls.set(id, calls);
    }
    followCalls(calls, event);
  }

  #isBelow(id: string): boolean {
    const { here, log } = this.#of ?? {};
    let parentId = log?.delegations.get(id)?.parentId ?? null;
    while (parentId !== null && parentId !== here?.id) {
      parentId = log?.delegations.get(parentId)?.parentId ?? null;
    }
    return parentId !== null;
  }

  /** A change of one may change those above it, up to the one of this process. */
  #consider(id: string): void {
    const { here, log } = this.#of ?? {};
    const state = log?.delegations.get(id);
    if (state === undefined || state.parentId === null) return;
    const isStill = standsStill(state, this.#calls.get(id) ?? noCalls, this.#below.get(id) ?? 0);
    if (isStill === this.#still.has(id)) return;
    if (isStill) this.#still.add(id);
    else this.#still.delete(id);
    const below = (this.#below.get(state.parentId) ?? 0) + (isStill ? 1 : -1);
    this.#below.set(state.parentId, below);
    if (state.parentId === here?.id) here.process.time.countBelow(below);
    else this.#consider(state.parentId);
  }
}

const noCalls: MutableCalls = new Map();

/** The types that change whether a delegation only waits. */
const tracked: ReadonlySet<EventType> = new Set<EventType>([
  "agent.asked",
  "agent.answered",
  "agent.budget_reserved",
  "agent.budget_settled",
  "agent.tool_started",
  "agent.tool_completed",
  "agent.tool_failed",
  "agent.tool_outcome_unknown",
  "agent.subagent_waiting_for_merge",
  "agent.subagent_closed",
]);
