import { useSyncExternalStore } from "react";
import type { EventType } from "../../../src/events/event.ts";
import { live } from "./live.ts";

/** What agents write at this moment, by delegation: the end of it, which is what people follow. */
const texts = new Map<string, string>();
const listeners = new Set<() => void>();
const mostKept = 2000;
const restMs = 100;
let isDue = false;

/** The answer is stored, or a request begins: the text so far is over. */
const endings: ReadonlySet<EventType> = new Set<EventType>([
  "agent.budget_reserved",
  "agent.model_turn",
  "agent.subagent_closed",
]);

live.listen({
  onDelta({ delegationId, text }) {
    const whole = (texts.get(delegationId) ?? "") + text;
    // Half a character is none.
    texts.set(delegationId, whole.slice(-mostKept).toWellFormed());
    changed();
  },
  onEvents(events) {
    for (const { sub_agent_id: id, type } of events) {
      if (id !== undefined && endings.has(type) && texts.delete(id)) changed();
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
