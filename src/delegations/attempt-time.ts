import type { StoredEvent } from "../events/event.ts";

/**
 * How long the latest attempt of a delegation was at work, as far as its log goes: what a crash cut
 * off has used its time. What it spent waiting for children or people does not count, as it did not
 * count while it lived. `isWaiting` says which tools only wait.
 */
export function attemptTime(
  events: readonly StoredEvent[],
  isWaiting: (tool: string) => boolean,
): number {
  const open = new Map<string, string>();
  let isAsking = false;
  let isResting = false;
  let used = 0;
  let last = 0;
  for (const event of events) {
    const isIdle = isAsking || isResting || (open.size > 0 && [...open.values()].every(isWaiting));
    if (last > 0 && !isIdle) used += Math.max(0, event.at - last);
    last = event.at;
    isResting = restsAfter(event, isResting);
    switch (event.type) {
      case "agent.subagent_attempt":
        used = 0;
        open.clear();
        isAsking = false;
        break;
      case "agent.tool_started":
        open.set(event.payload.call_id, event.payload.tool);
        break;
      case "agent.tool_completed":
      case "agent.tool_failed":
      case "agent.tool_outcome_unknown":
        open.delete(event.payload.call_id);
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

/** How long a delegation rested between an interrupt and its resumption: no deadline runs then. */
export function restingTime(events: readonly StoredEvent[]): number {
  let rested = 0;
  let since: number | null = null;
  for (const event of events) {
    const rests = restsAfter(event, since !== null);
    if (rests) since ??= event.at;
    else if (since !== null) rested += Math.max(0, event.at - since);
    if (!rests) since = null;
  }
  const last = events.at(-1)?.at ?? 0;
  return since === null ? rested : rested + Math.max(0, last - since);
}

function restsAfter(event: StoredEvent, before: boolean): boolean {
  if (event.type === "agent.interrupted") return true;
  if (event.type === "agent.paused") return before || event.payload.reason !== "budget";
  return event.type !== "agent.resumed" && before;
}
