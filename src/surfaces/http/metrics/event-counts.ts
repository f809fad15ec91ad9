import { type DelegationStatus, openAskOf } from "../../../events/delegation.ts";
import type { StoredEvent } from "../../../events/event.ts";
import type { Store } from "../../../ports/store.ts";
import { Counter, Histogram, type MetricFamily, Reading } from "./families.ts";

/** Bounds in seconds, from a short tool call to a plan that takes an hour. */
const workSeconds = [0.1, 0.5, 1, 5, 15, 30, 60, 120, 300, 900, 3600];

/** Counts events: a fold over everything that the hub receives. */
export class EventCounts {
  readonly #open = new OpenWork();
  readonly #events = new Counter("mandate_events", "Events by type.");
  readonly #runsStarted = new Counter("mandate_runs_started", "Started runs.");
  readonly #runsFinished = new Counter("mandate_runs_finished", "Finished runs, by outcome.");
  readonly #runSeconds = new Histogram(
    "mandate_run_duration_seconds",
    "Duration of runs, by outcome.",
    workSeconds,
  );
  readonly #started = new Counter("mandate_delegations_started", "Delegations, by profile.");
  readonly #closed = new Counter(
    "mandate_delegations_closed",
    "Closed delegations, by profile, final status and close reason.",
  );
  readonly #requests = new Counter(
    "mandate_model_requests",
    "Model requests that were answered, by model.",
  );
  readonly #retries = new Counter("mandate_retries", "Retries, by kind.");
  readonly #tokens = new Counter("mandate_model_tokens", "Tokens, by model and direction.");
  readonly #cost = new Counter("mandate_model_cost_dollars", "Cost in US dollars, by model.");
  readonly #modelSeconds = new Histogram(
    "mandate_model_request_duration_seconds",
    "Duration of model requests, by model.",
    workSeconds,
  );
  readonly #calls = new Counter("mandate_tool_calls", "Tool calls, by tool and outcome.");
  readonly #denied = new Counter("mandate_tool_calls_denied", "Refused tool calls, by rule.");
  readonly #asked = new Counter("mandate_asks", "Questions to people, by kind.");
  readonly #answered = new Counter("mandate_asks_answered", "Answers to questions, by source.");

  readonly families: readonly MetricFamily[] = [
    this.#events,
    this.#runsStarted,
    this.#runsFinished,
    this.#runSeconds,
    new Reading("mandate_runs_open", "Open runs.", "gauge", () => [[{}, this.#open.runs]]),
    this.#started,
    this.#closed,
    new Reading("mandate_delegations_open", "Open delegations, by status.", "gauge", () =>
      [...this.#open.countByStatus()].map(([status, count]) => [{ status }, count] as const),
    ),
    this.#requests,
    this.#retries,
    this.#tokens,
    this.#cost,
    this.#modelSeconds,
    this.#calls,
    this.#denied,
    this.#asked,
    this.#answered,
    new Reading("mandate_asks_open", "Open questions.", "gauge", () => [[{}, this.#open.asks]]),
  ];

  /** Reads what was open before the first event; nothing else is read from the log. */
  load(store: Pick<Store, "listRuns" | "readRun">): Promise<void> {
    return this.#open.load(store);
  }

  count(event: StoredEvent): void {
    this.#events.add({ type: event.type });
    const before = this.#open.find(event.sub_agent_id);
    switch (event.type) {
      case "run.started":
        this.#runsStarted.add();
        break;
      case "run.finished":
        this.#countRun(event);
        break;
      case "agent.subagent_created":
        this.#started.add({ profile: event.payload.profile });
        break;
      case "agent.subagent_closed": {
        const { final_status, close_reason } = event.payload;
        this.#closed.add({ profile: before?.profile ?? "unknown", final_status, close_reason });
        break;
      }
      case "agent.model_turn":
        this.#countTurn(event, before?.requestedAt ?? null);
        break;
      case "agent.retried":
        this.#retries.add({ what: event.payload.what });
        break;
      case "agent.tool_denied":
        this.#denied.add({ rule: event.payload.rule });
        this.#countCall(event);
        break;
      case "agent.tool_completed":
      case "agent.tool_failed":
      case "agent.tool_outcome_unknown":
        this.#countCall(event);
        break;
      case "agent.asked":
        this.#asked.add({ kind: event.payload.kind ?? "ask" });
        break;
      case "agent.answered":
        this.#answered.add({ by: event.payload.by });
        break;
      default:
    }
    this.#open.apply(event);
  }

  #countRun({ run_id, at, payload }: StoredEvent<"run.finished">): void {
    const outcome = payload.outcome;
    this.#runsFinished.add({ outcome });
    const startedAt = this.#open.startOf(run_id);
    if (startedAt !== undefined) this.#runSeconds.observe({ outcome }, (at - startedAt) / 1000);
  }

  #countCall({ type, payload: { tool } }: StoredEvent<EndOfCall>): void {
    this.#calls.add({ tool, outcome: type.slice("agent.tool_".length) });
  }

  #countTurn(event: StoredEvent<"agent.model_turn">, requestedAt: number | null): void {
    const { requested: model, usage } = event.payload;
    this.#requests.add({ model });
    this.#tokens.add({ model, direction: "input" }, usage.prompt);
    this.#tokens.add({ model, direction: "output" }, usage.completion);
    this.#cost.add({ model }, usage.cost);
    if (requestedAt !== null) {
      this.#modelSeconds.observe({ model }, (event.at - requestedAt) / 1000);
    }
  }
}

type EndOfCall =
  | "agent.tool_completed"
  | "agent.tool_failed"
  | "agent.tool_denied"
  | "agent.tool_outcome_unknown";

interface OpenDelegation {
  readonly runId: string;
  readonly profile: string;
  status: DelegationStatus;
  ask: { readonly id: string; readonly callId: string } | null;
  /** When the open model request was sent; null: there is no open request. */
  requestedAt: number | null;
}

/** Orphaned runs stay open without limit, so only the latest open runs are read. */
const mostRuns = 500;

/**
 * What is open now, in all processes. It follows the events; what was open before is read once, a
 * run at a time.
 */
class OpenWork {
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

  /** Reads what was open before the first event. */
  async load(store: Pick<Store, "listRuns" | "readRun">): Promise<void> {
    for (const row of await store.listRuns({ open: true, limit: mostRuns })) {
      const run = await store.readRun(row.id);
      // No await between reading and storing: every event that arrives later is newer.
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

  /** Applies an event, after the counters have read the state before it. */
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
