import { expect, test } from "vitest";
import type { StoredEvent } from "../../events/event.ts";
import { attemptTime } from "./attempt-time.ts";
import { livedTime, longestSilence } from "./lived-time.ts";

const hour = 3_600_000;

function log(...events: readonly (readonly [type: string, at: number, payload?: object])[]) {
  return events.map(
    ([type, at, payload = {}]) => ({ type, at, payload }) as unknown as StoredEvent,
  );
}

const life = [
  ["agent.subagent_created", 0],
  ["agent.subagent_started", 500],
  ["agent.subagent_attempt", 500],
  ["agent.model_turn", 1500],
] as const;

test("what was worked is counted from the start on, and what nobody worked is not", () => {
  const taken = log(...life, ["agent.resumed", 901_500], ["agent.model_turn", 902_500]);
  expect(livedTime(taken, hour)).toBe(2000);
  expect(attemptTime(taken, () => false, hour)).toBe(2000);
});

test("a clock that is set by an hour, forth or back, ends nobody whose time is an hour", () => {
  for (const way of [1, -1]) {
    const jumped = log(
      ...life,
      ["agent.model_turn", 1600 + way * hour],
      ["agent.model_turn", 2600],
    );
    const longest = longestSilence(hour);
    expect(livedTime(jumped, longest)).toBeLessThan(hour / 5);
    expect(attemptTime(jumped, () => false, longest)).toBeLessThan(hour / 5);
  }
});

test("the time that it rests is not counted", () => {
  const rested = log(
    ...life,
    ["agent.interrupted", 2500],
    ["agent.tool_completed", 5000],
    ["agent.resumed", 9000],
    ["agent.model_turn", 9500],
  );
  expect(livedTime(rested, hour)).toBe(2500);
});

test("the time that it only waits for a person is not counted, however long a silence is believed", () => {
  const asking = log(...life, ["agent.asked", 2500], ["agent.answered", 602_500]);
  const standings = [{ from: 2500, to: 602_500 }];
  expect(livedTime(asking, hour, standings)).toBe(2000);
  // Those above it say nothing as long.
  const waiting = log(...life, ["agent.tool_completed", 603_000]);
  expect(livedTime(waiting, hour, standings)).toBe(2500);
});
