import type { StoredEvent } from "../../events/event.ts";

/**
 * How long the latest attempt of a delegation was at work, as far as its log goes: what a crash cut
 * off has used its time, as far as clocks can be believed (`livedTime`). What it spent waiting for
 * children or people does not count, as it did not count while it lived. `isWaiting` says which tools only wait.
 */
export function attemptTime(
  events: readonly StoredEvent[],
  isWaiting: (tool: string) => boolean,
  longest = Number.POSITIVE_INFINITY,
): number {
  const open = new Map<string, string>();
  // Of those, how many do more than wait: a lead may have thousands of calls open at once.
  let working = 0;
  let isAsking = false;
  let isResting = false;
  let used = 0;
  let last = 0;
  const close = (callId: string): void => {
    const tool = open.get(callId);
    if (tool !== undefined && !isWaiting(tool)) working -= 1;
    open.delete(callId);
  };
  for (const event of events) {
    const isIdle = isAsking || isResting || (open.size > 0 && working === 0);
    if (last > 0 && !isIdle) used += timeBetween(last, event, longest);
    last = event.at;
    isResting = restsAfter(event, isResting);
    switch (event.type) {
      case "agent.subagent_attempt":
        used = 0;
        open.clear();
        working = 0;
        isAsking = false;
        break;
      case "agent.tool_started":
        close(event.payload.call_id);
        open.set(event.payload.call_id, event.payload.tool);
        if (!isWaiting(event.payload.tool)) working += 1;
        break;
      case "agent.tool_completed":
      case "agent.tool_failed":
      case "agent.tool_outcome_unknown":
        close(event.payload.call_id);
        break;
      case "agent.asked":
        isAsking = true;
        break;
      case "agent.answered":
        isAsking = false;
        break;
      default:
    }
  }
  return used;
}

export function restsAfter(event: StoredEvent, before: boolean): boolean {
  if (event.type === "agent.interrupted") return true;
  if (event.type === "agent.paused") return before || event.payload.reason !== "budget";
  return event.type !== "agent.resumed" && before;
}

/** What of the time up to an event somebody was at work. */
export function timeBetween(last: number, { at, type }: StoredEvent, longest: number): number {
  if (type === "agent.resumed" || type === "agent.claimed") return 0;
  return Math.min(Math.max(0, at - last), longest);
}
