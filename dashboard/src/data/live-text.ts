import { useSyncExternalStore } from "react";
import type { EventType } from "../../../src/events/event.ts";
import { live } from "./live.ts";

/** What agents write at this moment, by delegation: the end of it, which is what people follow. */
const texts = new Map<string, string>();
const listeners = new Set<() => void>();
const mostKept = 2000;
const restMs = 100;
let isDue = false;

/** The answer is stored: the text is over. */
const endings: ReadonlySet<EventType> = new Set<EventType>([
  "agent.model_turn",
  "agent.subagent_closed",
]);

live.listen({
  onDelta({ delegationId, text }) {
    // Unknown: the request began before this page was opened, so the beginning is missing.
    const whole = (texts.get(delegationId) ?? "…") + text;
    const isCut = whole.length > mostKept;
    // Half a character is none.
    texts.set(delegationId, isCut ? `…${whole.slice(-mostKept).toWellFormed()}` : whole);
    changed();
  },
  onEvents(events) {
    for (const { sub_agent_id: id, type } of events) {
      if (id === undefined) continue;
      if (type === "agent.budget_reserved") texts.set(id, "");
      else if (!endings.has(type) || !texts.delete(id)) continue;
      changed();
    }
  },
  onGap() {
    texts.clear();
    changed();
  },
});

function changed(): void {
  if (isDue) return;
  isDue = true;
  setTimeout(() => {
    isDue = false;
    for (const listener of [...listeners]) listener();
  }, restMs);
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** What an agent writes at this moment; empty when it writes nothing. */
export function useLiveText(delegationId: string): string {
  return useSyncExternalStore(subscribe, () => texts.get(delegationId) ?? "");
}
