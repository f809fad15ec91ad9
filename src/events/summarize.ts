import type { EventPayloads, EventType, StoredEvent } from "./event.ts";
import { runOutcomeOf } from "./run-outcome.ts";

/** One line for a condensed timeline. A new event type does not compile without its line. */
const lines: { readonly [T in EventType]: (payload: EventPayloads[T]) => string } = {
  "run.started": (p) => `run started: ${oneLine(p.task)}`,
  "run.resumed": () => "run taken up again after an interruption",
  "run.planned": (p) => `plan of ${p.steps.length} steps accepted`,
  "run.late_result": (p) => `late result of ${p.sub_agent_id} discarded`,
  "run.finished": (p) => {
    const outcome = runOutcomeOf(p);
    // The reason of a cancelled run begins with that word.
    return `run ${outcome === "cancelled" ? "" : `${outcome}: `}${oneLine(p.reason)}`;
  },
  "agent.subagent_created": (p) => `created as ${p.profile}: ${oneLine(p.title)}`,
  "agent.subagent_started": (p) => `started (${p.strategy})`,
  "agent.subagent_attempt": (p) => `attempt ${p.attempt} of ${p.of}`,
  "agent.subagent_waiting_for_merge": (p) =>
    `finished its work${p.truncated ? " (truncated)" : ""}: ${oneLine(p.output)}`,
  "agent.worktree_merged": (p) =>
    p.conflicted_files.length === 0
      ? `merged by ${p.strategy}`
      : `merge conflict in ${p.conflicted_files.join(", ")}`,
  "agent.subagent_completed": (p) => `accepted by ${p.integrator}`,
  "agent.claimed": () => "a worker took it",
  "agent.subagent_failed": (p) =>
    `${p.code === "cancelled" ? p.code : `failed (${p.code})`}: ${oneLine(p.error)}`,
  "agent.subagent_closed": (p) =>
    `closed ${p.close_reason === "cancelled" ? "" : `${p.final_status} `}(${p.close_reason})`,
  "agent.model_turn": (p) => {
    const did = p.calls?.length
      ? `calls ${p.calls.map((call) => call.name).join(", ")}`
      : oneLine(p.text ?? "");
    const how = p.taken_from === undefined ? "answered" : `answered as in ${p.taken_from}`;
    return `${p.requested} ${how}: ${did}`;
  },
  "agent.budget_reserved": (p) => `reserved ${p.tokens} tokens`,
  "agent.budget_settled": (p) =>
    `used ${p.prompt + p.completion} tokens${p.estimated ? " (worst case)" : ""}`,
  "agent.tool_started": (p) => `${p.tool} started`,
  "agent.tool_completed": (p) =>
    `${p.tool} ${p.is_error ? "failed" : "done"}: ${oneLine(p.output)}`,
  "agent.tool_failed": (p) => `${p.tool} failed: ${oneLine(p.error)}`,
  "agent.tool_denied": (p) => `${p.tool} refused (${p.rule}): ${oneLine(p.error)}`,
  "agent.tool_outcome_unknown": (p) => `${p.tool} was cut; its outcome is unknown`,
  "agent.asked": (p) => `asks: ${oneLine(p.question)}`,
  "agent.answered": (p) =>
    p.by === "expired"
      ? "nobody answered in time"
      : `answered by ${p.by}: ${oneLine(p.answer ?? "")}`,
  "agent.retried": (p) => `${p.what} retried in ${p.delay_ms} ms: ${oneLine(p.reason)}`,
  "agent.resumed": (p) =>
    p.resumption > 0 ? `taken up again (${p.resumption})` : "taken up again",
  "agent.interjected": (p) => `${p.from} (${p.severity}): ${oneLine(p.message)}`,
  "agent.compacted": (p) => `conversation of ${p.before_messages} messages shortened`,
  "agent.interrupted": (p) => `interrupted: ${oneLine(p.reason)}`,
  "agent.paused": (p) => `paused: ${oneLine(p.reason)}`,
  "agent.model_clamped": (p) => `model ${p.requested} clamped to ${p.granted}`,
  "agent.skills_clamped": (p) => `skills clamped to ${p.granted.join(", ") || "none"}`,
  "control.record_changed": (p) =>
    `${p.record} ${p.after_hash === null ? "deleted" : "changed"} by ${p.actor} (version ${p.version})`,
  "control.pruned": (p) =>
    `run ${p.run} pruned by ${p.actor}: ${p.events} events, ${p.outcome} ${new Date(p.finished_at).toISOString().slice(0, 10)}`,
  "command.executed": (p) => `${p.actor} ran ${oneLine(p.command)}: ${oneLine(p.outcome)}`,
};

export function summarize(event: StoredEvent): string {
  // The table is total over the union; the pairing of type and payload is what the compiler loses.
  return (lines[event.type] as (payload: unknown) => string)(event.payload);
}

/** Whether a stored word is a type of event at all. */
export function isEventType(word: string): word is EventType {
  return Object.hasOwn(lines, word);
}

function oneLine(text: string): string {
  const flat = text.slice(0, 400).replace(/\s+/g, " ").trim();
  return flat.length > 120 ? `${flat.slice(0, 119)}…` : flat;
}
