import type { StoredEvent } from "../../../events/event.ts";
import type { Store } from "../../../ports/store.ts";
import { Counter, Histogram, type MetricFamily, Reading } from "./metrics-family.ts";
import { OpenWork } from "./metrics-open-work.ts";

/** From a tool's answer to a plan that takes an hour. */
const workSeconds = [0.1, 0.5, 1, 5, 15, 30, 60, 120, 300, 900, 3600];

/** What happens, in figures: a fold over the events that are heard. */
export class EventCounts {
  readonly #open = new OpenWork();
  readonly #events = new Counter("mandate_events", "Events by type.");
  readonly #runsStarted = new Counter("mandate_runs_started", "Runs that began.");
  readonly #runsFinished = new Counter("mandate_runs_finished", "Runs that ended, by outcome.");
  readonly #runSeconds = new Histogram(
    "mandate_run_duration_seconds",
    "How long runs took, by outcome.",
    workSeconds,
  );
  readonly #started = new Counter("mandate_delegations_started", "Delegations, by profile.");
  readonly #closed = new Counter(
    "mandate_delegations_closed",
    "Delegations that were closed, by profile, final status and close reason.",
  );
  readonly #requests = new Counter("mandate_model_requests", "Answers of models, by model.");
  readonly #retries = new Counter("mandate_retries", "What was tried again, by what it was.");
  readonly #tokens = new Counter("mandate_model_tokens", "Tokens, by model and direction.");
  readonly #cost = new Counter("mandate_model_cost_dollars", "What models cost, by model.");
  readonly #modelSeconds = new Histogram(
    "mandate_model_request_duration_seconds",
    "How long models took to answer, by model.",
    workSeconds,
  );
  readonly #calls = new Counter("mandate_tool_calls", "Tool calls, by tool and outcome.");
  readonly #denied = new Counter("mandate_tool_calls_denied", "Refused tool calls, by rule.");
  readonly #asked = new Counter("mandate_asks", "Questions to people, by kind.");
  readonly #answered = new Counter("mandate_asks_answered", "Answers, by whom.");

  readonly families: readonly MetricFamily[] = [
    this.#events,
    this.#runsStarted,
    this.#runsFinished,
    this.#runSeconds,
    new Reading("mandate_runs_open", "Runs that have not ended.", "gauge", () => [
      [{}, this.#open.runs],
    ]),
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
    new Reading("mandate_asks_open", "Questions that wait for an answer.", "gauge", () => [
      [{}, this.#open.asks],
    ]),
  ];

  /** Reads what was open before the first event was heard; nothing else is read from the log. */
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
