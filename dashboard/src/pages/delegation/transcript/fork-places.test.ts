import { describe, expect, it } from "vitest";
import { tellEvents } from "../../run/gantt/told-events.test-support.ts";
import { forkPlaces } from "./fork-places.ts";

const events = tellEvents(
  [0, null, "run.started"],
  [1, "a", "agent.subagent_created"],
  [2, "a", "agent.budget_reserved"],
  [3, "a", "agent.model_turn"],
  [3, "a", "agent.budget_settled"],
  [4, "a", "agent.tool_started"],
  [5, "a", "agent.tool_completed"],
  [6, "a", "agent.budget_reserved"],
  [7, "a", "agent.model_turn"],
  [8, "a", "agent.subagent_waiting_for_merge"],
);

describe("forkPlaces", () => {
  it("is after the calls of a turn were answered, and before the next one", () => {
    expect(forkPlaces(events).get(3)).toBe(7);
    expect(forkPlaces(events).get(7)).toBe(9);
  });

  it("is the last event while the turn goes on", () => {
    expect(forkPlaces(events.slice(0, 6)).get(3)).toBe(6);
  });

  it("is nowhere for what was said in another run", () => {
    expect(forkPlaces(events).get(99)).toBeUndefined();
  });
});
