import { storedLine } from "../text.ts";
import { labelOfEnd } from "./cause.ts";
import { closeReasonWords } from "./close-reason.ts";
import type { EventPayloads, EventType, MessageSender, NewEvent, StoredEvent } from "./event.ts";
import type { ProgramReport } from "./program-payloads.ts";

/** One line for a timeline, by event type. A new type does not compile without its line. */
const lines: { readonly [T in EventType]: (payload: EventPayloads[T]) => string } = {
  "run.started": (p) => `run started: ${short(p.task)}`,
  "run.resumed": () => "run recovered after an interruption",
  "run.planned": (p) => `plan of ${p.steps.length} steps accepted`,
  "run.late_result": (p) => `late, of ${p.sub_agent_id}: ${short(p.detail)}`,
  "run.finished": (p) => {
    // The reason of a cancelled run begins with that word.
    return `run ${p.outcome === "cancelled" ? "" : `${p.outcome}: `}${short(p.reason)}`;
  },
  "agent.subagent_created": (p) =>
    `created as ${p.client === undefined ? p.profile : short(p.client)}: ${short(p.title)}`,
  "agent.subagent_started": (p) => `started (${p.strategy})`,
  "agent.subagent_attempt": (p) => `attempt ${p.attempt} of ${p.of}`,
  "agent.subagent_waiting_for_merge": (p) =>
    `finished its work${p.truncated ? " (truncated)" : ""}: ${short(p.output)}`,
  "agent.worktree_merged": (p) =>
    p.conflicted_files.length === 0
      ? `merged by ${p.strategy}`
      : `merge conflict in ${p.conflicted_files.join(", ")}`,
  "agent.subagent_completed": (p) => `accepted by ${p.integrator}`,
  "agent.claimed": () => "claimed by a worker",
  "agent.subagent_failed": (p) =>
    `${p.code === "cancelled" ? p.code : `failed (${labelOfEnd({ closeReason: p.code, failure: p })})`}: ${short(p.error)}`,
  "agent.subagent_closed": (p) =>
    `closed ${p.close_reason === "cancelled" ? "" : `${p.final_status} `}(${closeReasonWords[p.close_reason]})`,
  "agent.model_turn": (p) => {
    // The words of an agent program are events of their own.
    if (p.request !== undefined) {
      const said = p.text === undefined ? "" : `: ${short(p.text)}`;
      return `request ${p.request} answered by ${p.requested}${said}`;
    }
    const did = p.calls?.length
      ? `calls ${p.calls.map((call) => call.name).join(", ")}`
      : short(p.text ?? "");
    const how = p.taken_from === undefined ? "answered" : `answered as in ${p.taken_from}`;
    return `${p.requested} ${how}: ${did}`;
  },
  "agent.budget_reserved": (p) => `reserved ${p.tokens} tokens`,
  "agent.budget_settled": (p) => {
    const tokens = `${p.prompt + p.completion} tokens`;
    if (p.overrun)
      return `used ${tokens}, ${p.prompt + p.completion - p.reserved} more than reserved`;
    return p.estimated ? `used ≤ ${tokens} (estimate)` : `used ${tokens}`;
  },
  "agent.budget_corrected": (p) =>
    `used ${p.prompt + p.completion} tokens, as reported later (was ≤ ${p.replaces.prompt + p.replaces.completion})`,
  "agent.tool_started": (p) => `${p.tool} started`,
  "agent.tool_completed": (p) => `${p.tool} ${p.is_error ? "failed" : "done"}: ${short(p.output)}`,
  "agent.tool_failed": (p) => `${p.tool} failed: ${short(p.error)}`,
  "agent.tool_denied": (p) => `${p.tool} refused (${p.rule}): ${short(p.error)}`,
  "agent.tool_outcome_unknown": (p) => `${p.tool} was interrupted; its outcome is unknown`,
  "agent.asked": (p) => `asks: ${short(p.question)}`,
  "agent.answered": (p) =>
    p.by === "expired" ? "no answer in time" : `answered by ${p.by}: ${short(p.answer ?? "")}`,
  "agent.retried": (p) =>
    p.what === "model"
      ? short(p.reason)
      : `${p.what} retried in ${p.delay_ms} ms: ${short(p.reason)}`,
  "agent.resumed": (p) => (p.resumption > 0 ? `recovered (${p.resumption})` : "resumed"),
  "agent.message_sent": (p) => `message from ${senders[p.from]}: ${short(p.message)}`,
  "agent.interjected": (p) =>
    p.message_id === undefined
      ? `${p.from} (${p.severity}): ${short(p.message)}`
      : `reads the message from ${senders[p.from as MessageSender]}: ${short(p.message)}`,
  "agent.compacted": (p) => `conversation of ${p.before_messages} messages shortened`,
  "agent.interrupted": (p) => `interrupted: ${short(p.reason)}`,
  "agent.paused": (p) => `paused: ${short(p.reason)}`,
  "agent.request_refused": (p) => `request refused: ${short(p.error)}`,
  "agent.program_started": (p) =>
    `${short(p.program)} ${p.resumed ? "continues" : "works"}${p.login === undefined ? "" : " with its own login: tokens and dollars are not enforced"}`,
  "agent.program_reported": (p) =>
    p.what === "call"
      ? `${short(p.title)} ${p.outcome}`
      : p.what === "plan"
        ? short(describePlan(p))
        : `says: ${short(p.text)}`,
  "agent.program_called": (p) => `calls ${short(p.tool)}`,
  "agent.program_answered": (p) =>
    `${p.stop === "end_turn" ? "answered" : p.stop.replaceAll("_", " ")}: ${short(p.text)}`,
  "agent.workflow_started": (p) => `workflow ${short(p.name)} started`,
  "agent.workflow_called": (p) =>
    `workflow calls ${short(p.label)}${p.taken_from === undefined ? "" : `, recorded by ${p.taken_from}`}`,
  "agent.workflow_settled": (p) =>
    `workflow call ${p.key}: ${p.error === undefined ? p.outcome : short(p.error.message)}`,
  "agent.workflow_noted": (p) => `workflow ${p.kind}: ${short(p.text)}`,
  "agent.model_clamped": (p) => `model ${p.requested} clamped to ${p.granted}`,
  "agent.skills_clamped": (p) => `skills clamped to ${p.granted.join(", ") || "none"}`,
  "control.record_changed": (p) =>
    `${p.record} ${p.after_hash === null ? "deleted" : "changed"} by ${p.actor} (version ${p.version})`,
  "control.pruned": (p) =>
    `run ${p.run} pruned by ${p.actor}: ${p.events} events, ${p.outcome} ${new Date(p.finished_at).toISOString().slice(0, 10)}`,
  "command.executed": (p) => `${p.actor} ran ${short(p.command)}: ${short(p.outcome)}`,
};

const senders: Readonly<Record<MessageSender, string>> = {
  caller: "its caller",
  person: "a person",
};

/**
 * An event in one line, for a timeline.
 *
 * @example for (const event of events) console.log(event.at, summarize(event));
 */
export function summarize({ payload, type }: NewEvent): string {
  try {
    // The table is total over the union, but the compiler cannot pair a type with its payload.
    return (lines[type] as (payload: unknown) => string)(payload);
  } catch {
    // A stored event may be damaged or of another version.
    return type;
  }
}

/** Whether a stored text is a known event type. */
export function isEventType(word: string): word is EventType {
  return Object.hasOwn(lines, word);
}

/** One line without terminal sequences, because it is stored and shown in terminals. */
function short(text: string): string {
  return storedLine(text, 120);
}

/** An event as surfaces return it to programs. */
export type ToldEvent = StoredEvent;

export function tellEvent(event: StoredEvent): ToldEvent {
  const { seq, run_seq, run_id, sub_agent_id, type, at, summary, payload, hash } = event;
  // In a readable order, and without fields that a store adds.
  return {
    seq,
    run_seq,
    run_id,
    ...(sub_agent_id !== undefined && { sub_agent_id }),
    type,
    at,
    summary,
    payload,
    hash,
  } as ToldEvent;
}

/** A plan of an agent program in one line. */
export function describePlan({ entries }: Extract<ProgramReport, { what: "plan" }>): string {
  const steps = entries.map(({ status, text }) => `${marks[status] ?? "[ ]"} ${text}`);
  return `Plan: ${steps.join("  ")}`;
}

const marks: Readonly<Record<string, string>> = { completed: "[x]", in_progress: "[>]" };
