import type { FollowedEvent } from "../../../../src/surfaces/client/mandate-client.ts";

/** A shape for what happened: good, bad, worth a look, a call, something said. */
export function EventMark({ event }: { readonly event: FollowedEvent }) {
  const [tone, path] = lookOf(event);
  return (
    <svg
      viewBox="0 0 16 16"
      className={`size-3.5 ${tone}`}
      fill="none"
      stroke="currentColor"
      strokeWidth="1.75"
      strokeLinecap="round"
      strokeLinejoin="round"
      aria-hidden="true"
    >
      <path d={path} />
    </svg>
  );
}

const good = ["text-good", "m3 8.5 3.5 3.5L13 4.5"] as const;
const bad = ["text-bad", "m4 4 8 8M12 4l-8 8"] as const;
const stopped = [
  "text-soft",
  "M8 2.5a5.5 5.5 0 1 0 0 11 5.5 5.5 0 0 0 0-11ZM4.2 4.2l7.6 7.6",
] as const;
const look = ["text-warn", "M8 3v6.5M8 12.5v.1"] as const;
const begin = ["text-busy", "M5 3.5v9l7-4.5Z"] as const;
const said = ["text-soft", "M3 5h10M3 8h10M3 11h6"] as const;
const call = ["text-soft", "m5 4 4 4-4 4M9.5 12H13"] as const;
const other = ["text-soft", "M8 8h.1"] as const;

const runMarks = { succeeded: good, failed: bad, cancelled: stopped } as const;

function lookOf(event: FollowedEvent): readonly [string, string] {
  switch (event.type) {
    case "run.finished":
      return runMarks[event.payload.outcome];
    case "agent.subagent_closed":
      if (isStop(event.payload.close_reason)) return stopped;
      return event.payload.final_status === "completed" ? good : bad;
    case "agent.subagent_failed":
      return isStop(event.payload.code) ? stopped : bad;
    case "agent.tool_failed":
      return bad;
    case "agent.program_reported":
      if (event.payload.what !== "call") return said;
      return event.payload.outcome === "failed" ? bad : call;
    case "agent.request_refused":
    case "agent.tool_denied":
    case "agent.tool_outcome_unknown":
    case "agent.asked":
    case "agent.retried":
    case "agent.interjected":
    case "agent.model_clamped":
    case "agent.skills_clamped":
    case "agent.paused":
    case "run.late_result":
      return look;
    case "run.started":
    case "run.resumed":
    case "agent.resumed":
    case "agent.subagent_created":
    case "agent.subagent_attempt":
    case "agent.program_started":
      return begin;
    case "agent.tool_started":
    case "agent.tool_completed":
    case "agent.program_called":
      return call;
    case "agent.model_turn":
    case "agent.program_answered":
    case "agent.answered":
    case "agent.subagent_waiting_for_merge":
    case "run.planned":
      return said;
    default:
      return other;
  }
}

/** Who was stopped has not failed. */
function isStop(reason: string): boolean {
  return reason === "cancelled" || reason === "parent_closed";
}
