import { type DelegationStatus, openAskOf } from "../../../events/delegation.ts";
import type { StoredEvent } from "../../../events/event.ts";
import type { Store } from "../../../ports/store.ts";

interface OpenDelegation {
  readonly runId: string;
  readonly profile: string;
  status: DelegationStatus;
  ask: { readonly id: string; readonly callId: string } | null;
  /** When the request to a model left that is under way. */
  requestedAt: number | null;
}

/** Runs that nobody works on any more are open for ever: the latest ones are enough to look at. */
const mostRuns = 500;

/**
 * What is open now, of all processes: only that, since everything closed is a count. It follows the
 * events; what was open before is read once, a run at a time.
 */
export class OpenWork {
  readonly #delegations = new Map<string, OpenDelegation>();
  readonly #runs = new Map<string, number>();

  get runs(): number {
    return this.#runs.size;
  }

  get asks(): number {
    let count = 0;
    for (const { ask } of this.#delegations.values()) if (ask !== null) count++;
    return count;
  }

  countByStatus(): ReadonlyMap<DelegationStatus, number> {
    const counts = new Map<DelegationStatus, number>();
    for (const status of openStatuses) counts.set(status, 0);
    for (const { status } of this.#delegations.values()) {
      counts.set(status, (counts.get(status) ?? 0) + 1);
    }
    return counts;
  }

  find(delegationId: string | undefined): Readonly<OpenDelegation> | undefined {
    return delegationId === undefined ? undefined : this.#delegations.get(delegationId);
  }

  startOf(runId: string): number | undefined {
    return this.#runs.get(runId);
  }

  /** Reads what was open before the first event was heard. */
  async load(store: Pick<Store, "listRuns" | "readRun">): Promise<void> {
    for (const row of await store.listRuns({ open: true, limit: mostRuns })) {
      const run = await store.readRun(row.id);
      // In the same step as reading: whatever is heard of from now on is newer.
      if (run === undefined || run.outcome !== null) continue;
      this.#runs.set(run.id, run.startedAt);
      for (const delegation of run.delegations.values()) {
        const { id, profile, status } = delegation;
        if (status === "closed") continue;
        const asked = openAskOf(delegation);
        const ask = asked && { id: asked.id, callId: asked.callId };
        this.#delegations.set(id, { runId: run.id, profile, status, ask, requestedAt: null });
      }
    }
  }

  /** Called after whoever wants to know how it was before. */
  apply(event: StoredEvent): void {
    if (event.type === "run.started") this.#runs.set(event.run_id, event.at);
    if (event.type === "run.finished") this.#forget(event.run_id);
    const id = event.sub_agent_id;
    if (id === undefined) return;
    if (event.type === "agent.subagent_created") {
      const { profile } = event.payload;
      const fresh = { status: "created" as const, ask: null, requestedAt: null };
      this.#delegations.set(id, { runId: event.run_id, profile, ...fresh });
      return;
    }
    const delegation = this.#delegations.get(id);
    if (delegation === undefined) return;
    if (event.type === "agent.subagent_closed") this.#delegations.delete(id);
    else move(delegation, event);
  }

  #forget(runId: string): void {
    this.#runs.delete(runId);
    for (const [id, delegation] of this.#delegations) {
      if (delegation.runId === runId) this.#delegations.delete(id);
    }
  }
}

const openStatuses: readonly DelegationStatus[] = [
  "created",
  "running",
  "waiting_for_merge",
  "completed",
  "failed",
];

function move(delegation: OpenDelegation, event: StoredEvent): void {
  switch (event.type) {
    case "agent.subagent_started":
      delegation.status = "running";
      break;
    case "agent.subagent_waiting_for_merge":
      delegation.status = "waiting_for_merge";
      delegation.ask = null;
      break;
    case "agent.subagent_completed":
      delegation.status = "completed";
      delegation.ask = null;
      break;
    case "agent.subagent_failed":
      delegation.status = "failed";
      delegation.ask = null;
      break;
    case "agent.asked":
      delegation.ask = { id: event.payload.ask_id, callId: event.payload.call_id };
      break;
    case "agent.answered":
      if (delegation.ask?.id === event.payload.ask_id) delegation.ask = null;
      break;
    case "agent.tool_completed":
      if (delegation.ask?.callId === event.payload.call_id) delegation.ask = null;
      break;
    case "agent.budget_reserved":
      delegation.requestedAt = event.at;
      break;
    case "agent.budget_settled":
      delegation.requestedAt = null;
      break;
    default:
  }
}
