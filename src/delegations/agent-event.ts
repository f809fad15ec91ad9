import type { EventPayloads } from "../events/event.ts";
import type { Agent } from "./agent.ts";

/** An event of one agent, before anybody has written it. */
export function event<Type extends keyof EventPayloads>(
  agent: Agent,
  type: Type,
  payload: EventPayloads[Type],
): { readonly type: Type; readonly sub_agent_id: string; readonly payload: EventPayloads[Type] } {
  return { type, sub_agent_id: agent.id, payload };
}
