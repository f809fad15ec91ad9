import type { EventPayloads, EventType, StoredEvent } from "../../../../../src/events/event.ts";
import { examplePayloads } from "../../../../../src/events/example-events.test-support.ts";

type Told = {
  [Type in EventType]: readonly [
    at: number,
    who: string | null,
    type: Type,
    payload?: Partial<EventPayloads[Type]>,
  ];
}[EventType];

/** Events from a few words each: when, who, what. What is not said is as in the examples. */
export function tellEvents(...told: readonly Told[]): readonly StoredEvent[] {
  return told.map(([at, who, type, payload], index) => {
    const event = {
      ...{ seq: index + 1, run_seq: index + 1, run_id: "r000001", at, hash: `h${index}`, type },
      ...(who !== null && { sub_agent_id: who }),
      payload: { ...examplePayloads[type], ...payload },
    };
    return event as unknown as StoredEvent;
  });
}

/** A lead that waits for two children, the second of which waits for a slot and comes back last. */
export function tellTeam(): readonly StoredEvent[] {
  const closed = (who: string) => ({ sub_agent_id: who, final_status: "completed" }) as const;
  return tellEvents(
    [0, null, "run.started"],
    [0, "lead", "agent.subagent_created", { parent_id: null, profile: "lead" }],
    [5, "lead", "agent.subagent_started"],
    [10, "lead", "agent.budget_reserved"],
    [100, "lead", "agent.model_turn"],
    [110, "lead", "agent.tool_started", { call_id: "1", tool: "delegate_task", joins: true }],
    [110, "lead", "agent.tool_started", { call_id: "2", tool: "delegate_task", joins: true }],
    [120, "one", "agent.subagent_created", { parent_id: "lead", depth: 1, step_idx: 0 }],
    [120, "two", "agent.subagent_created", { parent_id: "lead", depth: 1, step_idx: 1 }],
    [130, "one", "agent.subagent_started"],
    [130, "one", "agent.budget_reserved"],
    [300, "one", "agent.model_turn"],
    [300, "one", "agent.subagent_waiting_for_merge"],
    [305, "one", "agent.subagent_completed"],
    [305, "one", "agent.subagent_closed", closed("one")],
    [310, "two", "agent.subagent_started"],
    [310, "lead", "agent.tool_completed", { call_id: "1", tool: "delegate_task" }],
    [315, "two", "agent.budget_reserved"],
    [500, "two", "agent.model_turn"],
    [500, "two", "agent.tool_started", { call_id: "3", tool: "run_command" }],
    [600, "two", "agent.tool_completed", { call_id: "3", tool: "run_command" }],
    [600, "two", "agent.subagent_waiting_for_merge"],
    [610, "two", "agent.subagent_completed"],
    [610, "two", "agent.subagent_closed", closed("two")],
    [620, "lead", "agent.tool_completed", { call_id: "2", tool: "delegate_task" }],
    [620, "lead", "agent.budget_reserved", { request: 2 }],
    [700, "lead", "agent.model_turn"],
    [700, "lead", "agent.subagent_waiting_for_merge"],
    [710, "lead", "agent.subagent_completed"],
    [710, "lead", "agent.subagent_closed", closed("lead")],
    [710, null, "run.finished"],
  );
}
