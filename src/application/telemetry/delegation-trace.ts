import type { Attributes, Span } from "@opentelemetry/api";
import { callEndIn, saidIn } from "../../events/agent-work.ts";
import { shownName } from "../../events/delegation.ts";
import type { StoredEvent } from "../../events/event.ts";
import { modelAttributes, names, shorten, usageAttributes } from "./gen-ai.ts";

/** An open call. */
export interface CallTrace {
  readonly id: string;
  readonly tool: string;
  readonly startedAt: number;
  readonly attempt: number;
  /** Absent while earlier events are read. */
  span: Span | undefined;
}

/** An open request, with all of its attempts. */
export interface RequestTrace {
  readonly startedAt: number;
  /** When the last attempt ended. */
  settledAt: number | null;
  readonly retries: { readonly at: number; readonly what: string; readonly delayMs: number }[];
}

/** The state of an open delegation that its spans need. */
export interface DelegationTrace {
  readonly id: string;
  readonly created: StoredEvent<"agent.subagent_created">;
  readonly calls: Map<string, CallTrace>;
  request: RequestTrace | null;
  /** When the open requests of an agent program began, by their numbers: there may be several. */
  readonly programRequests: Map<number, number>;
  attempt: number;
  output: string | null;
  span: Span | undefined;
}

export function newDelegationTrace(
  created: StoredEvent<"agent.subagent_created">,
): DelegationTrace {
  const id = created.sub_agent_id ?? "";
  return {
    id,
    created,
    calls: new Map(),
    request: null,
    programRequests: new Map(),
    attempt: 0,
    output: null,
    span: undefined,
  };
}

/** Updates the state by an event; spans are made elsewhere. */
export function follow(delegation: DelegationTrace, event: StoredEvent): void {
  switch (event.type) {
    case "agent.subagent_attempt":
      delegation.attempt = event.payload.attempt;
      break;
    case "agent.subagent_waiting_for_merge":
      delegation.output = event.payload.output;
      break;
    case "agent.budget_reserved":
      if (event.payload.model !== undefined) {
        delegation.programRequests.set(event.payload.request, event.at);
        break;
      }
      delegation.request ??= { startedAt: event.at, settledAt: null, retries: [] };
      delegation.request.settledAt = null;
      break;
    case "agent.budget_settled":
      delegation.programRequests.delete(event.payload.request);
      if (delegation.request) delegation.request.settledAt = event.at;
      break;
    case "agent.retried": {
      const { delay_ms: delayMs, what } = event.payload;
      delegation.request?.retries.push({ at: event.at, what, delayMs });
      break;
    }
    case "agent.model_turn":
      delegation.request = null;
      break;
    default: {
      const begun = callBegunIn(event);
      const { attempt, calls } = delegation;
      if (begun !== undefined) {
        calls.set(begun.id, { ...begun, startedAt: event.at, attempt, span: undefined });
      }
      const end = callEndIn(event);
      if (end !== undefined) calls.delete(end.callId);
    }
  }
}

/** The call that begins with an event: of a tool of ours, or what an agent program does by itself. */
export function callBegunIn(event: StoredEvent): Pick<CallTrace, "id" | "tool"> | undefined {
  if (event.type === "agent.tool_started") {
    const { call_id: id, tool } = event.payload;
    return { id, tool };
  }
  if (event.type !== "agent.program_reported") return undefined;
  const [call] = saidIn(event)?.calls ?? [];
  return call && { id: call.id, tool: call.name };
}

/** The span event of a log event: a name and attributes. */
export function markOf(event: StoredEvent): readonly [name: string, Attributes] | undefined {
  switch (event.type) {
    case "agent.asked": {
      const { ask_id: id, kind = "ask" } = event.payload;
      return ["mandate.ask", { "mandate.ask.id": id, "mandate.ask.kind": kind }];
    }
    case "agent.answered": {
      const { ask_id: id, by } = event.payload;
      return ["mandate.answer", { "mandate.ask.id": id, "mandate.answer.by": by }];
    }
    case "agent.worktree_merged": {
      const { strategy, conflicted_files: conflicts, commit, files = [] } = event.payload;
      return [
        "mandate.merge",
        {
          "mandate.merge.strategy": strategy,
          "mandate.merge.conflicts": conflicts.length,
          "mandate.merge.files": files.length,
          ...(commit !== null && { "mandate.merge.commit": commit }),
        },
      ];
    }
    case "agent.subagent_attempt":
      return event.payload.attempt === 1
        ? undefined
        : ["mandate.attempt", { "mandate.attempt": event.payload.attempt }];
    case "agent.resumed":
      return ["mandate.resumed", { "mandate.fence": event.payload.fence }];
    case "agent.interjected": {
      const { from, severity } = event.payload;
      return [
        "mandate.interjection",
        { "mandate.from": shorten(from), "mandate.severity": severity },
      ];
    }
    case "agent.paused":
      return ["mandate.paused", {}];
    case "agent.interrupted":
      return ["mandate.interrupted", { "mandate.reason": shorten(event.payload.reason) }];
    case "agent.compacted":
      return ["mandate.compacted", { "mandate.messages": event.payload.before_messages }];
    case "run.planned":
      return ["mandate.plan", { "mandate.plan.steps": event.payload.steps.length }];
    default:
      return undefined;
  }
}

/** The attributes at the start of a delegation. */
export function agentAttributes({
  run_id,
  sub_agent_id,
  payload,
}: StoredEvent<"agent.subagent_created">): Attributes {
  return {
    [names.operation]: "invoke_agent",
    [names.agentId]: sub_agent_id ?? "",
    [names.agentName]: shorten(shownName(payload)),
    [names.conversation]: run_id,
    "mandate.contract.hash": payload.contract_hash,
    "mandate.depth": payload.depth,
    "mandate.step": payload.step_idx,
    ...(payload.resumed_from !== undefined && { "mandate.resumed_from": payload.resumed_from }),
  };
}

/** The attributes at the end of a delegation. */
export function closingAttributes({ payload }: StoredEvent<"agent.subagent_closed">): Attributes {
  const { final_status: status, close_reason: reason, seal } = payload;
  return {
    ...usageAttributes(seal.usage),
    ...(seal.requested !== undefined && modelAttributes(seal.requested)),
    "mandate.status": status,
    "mandate.close_reason": reason,
    "mandate.attempts": seal.attempts,
    "mandate.turns": seal.turns,
    "mandate.tool_calls": seal.tool_calls,
  };
}
