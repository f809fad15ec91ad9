import type { NewEvent, StoredEvent } from "../events/event.ts";
import type { Store } from "../ports/store.ts";

/** A store that is read as if nobody could make out a sentence that the runtime had written. */
export function withScrambledSentences(store: Store): Store {
  const overrides: Partial<Store> = {
    async *readEvents(query) {
      for await (const event of store.readEvents(query)) {
        yield { ...scrambled(event), summary: scramble(event.summary) } as StoredEvent;
      }
    },
  };
  return new Proxy(store, {
    get(target, key) {
      const own: unknown = Reflect.get(overrides, key);
      if (own !== undefined) return own;
      const value: unknown = Reflect.get(target, key);
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
}

/** Texts of models, tools, people and programs stay: they are what happened. */
export function scrambled<Event extends NewEvent>(event: Event): Event {
  const change = (fields: object): Event => ({
    ...event,
    payload: { ...event.payload, ...fields },
  });
  switch (event.type) {
    case "agent.tool_failed": {
      const { cause, error } = event.payload;
      const isToolsOwn = cause.code === "tool_error" || cause.code === "not_approved";
      return isToolsOwn ? event : change({ error: scramble(error) });
    }
    case "agent.subagent_failed":
    case "agent.tool_denied":
    case "agent.tool_outcome_unknown":
      return change({ error: scramble(event.payload.error) });
    case "agent.retried":
    case "agent.interrupted":
    case "run.finished":
      return change({ reason: scramble(event.payload.reason) });
    case "run.late_result":
      return change({ detail: scramble(event.payload.detail) });
    case "agent.interjected": {
      const { cause, from, message } = event.payload;
      const isOurs = cause !== undefined || from === "session";
      return isOurs ? change({ message: scramble(message) }) : event;
    }
    case "agent.asked": {
      const { about, kind, question } = event.payload;
      const isOurs = about !== undefined || kind === "approval";
      return isOurs ? change({ question: scramble(question) }) : event;
    }
    default:
      return event;
  }
}

/** Other words, and another length. */
function scramble(text: string): string {
  return `¿${[...text].toReversed().join("")}¿ ${text.length}`;
}
