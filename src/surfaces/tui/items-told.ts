import type { StoredEvent } from "../../events/event.ts";
import { isInboxType } from "../../events/inbox-types.ts";
import type { Folded } from "./fold-turn.ts";
import type { Turn } from "./turn.ts";

/**
 * The items of the inbox that a person knows of once an event was folded into the turn before them:
 * an item's id is the number of its event. What happens further down, and leaves no trace in the
 * conversation, is not among them.
 */
export function itemsTold(
  before: Turn,
  event: StoredEvent,
  { entries }: Pick<Folded, "entries">,
): readonly number[] {
  if (!isInboxType(event.type)) return [];
  switch (event.type) {
    // A question is told with its answer; while it waits it stands elsewhere on the screen.
    case "agent.answered": {
      const question = before.asked.get(event.payload.ask_id);
      return question === undefined ? [] : [question.item, event.seq];
    }
    // Nobody asks any more.
    case "run.finished":
      return [...[...before.asked.values()].map(({ item }) => item), event.seq];
    // Its steps are told one by one, as they end.
    case "run.planned":
      return event.payload.by === before.rootId ? [event.seq] : [];
    // What it said last is its end, and is not said twice.
    case "agent.subagent_closed":
      return entries.length > 0 || event.payload.sub_agent_id === before.rootId ? [event.seq] : [];
    default:
      return entries.length > 0 ? [event.seq] : [];
  }
}
