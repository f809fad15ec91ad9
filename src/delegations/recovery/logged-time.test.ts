import { expect, test } from "vitest";
import type { StoredEvent } from "../../events/event.ts";
import { LoggedTime, longestSilence } from "./logged-time.ts";

const hour = 3_600_000;

type Line = readonly [type: string, at: number, payload?: object, id?: string];

function usedBy(lines: readonly Line[], longest = hour): LoggedTime {
  const time = new LoggedTime({ longest: () => longest, isWaiting: () => false });
  for (const [type, at, payload = {}, id = "child"] of lines) {
    time.see({ type, at, payload, sub_agent_id: id } as unknown as StoredEvent);
  }
  return time;
}

const life: readonly Line[] = [
  ["agent.subagent_created", 0],
  ["agent.subagent_started", 500],
  ["agent.subagent_attempt", 500, { attempt: 1 }],
  ["agent.model_turn", 1500],
];

test("what was worked is counted from the start on, and what nobody worked is not", () => {
  const taken = usedBy([...life, ["agent.resumed", 901_500], ["agent.model_turn", 902_500]]);
  expect(taken.of("child")).toEqual({ totalMs: 2000, attemptMs: 2000 });
});

test("a clock that is set by an hour, forth or back, ends nobody whose time is an hour", () => {
  for (const way of [1, -1]) {
    const last: readonly Line[] = [
      ["agent.model_turn", 1600 + way * hour],
      ["agent.model_turn", 2600],
    ];
    const { attemptMs, totalMs } = usedBy([...life, ...last], longestSilence(hour)).of("child");
    expect(totalMs).toBeLessThan(hour / 5);
    expect(attemptMs).toBeLessThan(hour / 5);
  }
});

test("the time that it rests is not counted", () => {
  const rested = usedBy([
    ...life,
    ["agent.interrupted", 2500],
    ["agent.tool_completed", 5000],
    ["agent.resumed", 9000],
    ["agent.model_turn", 9500],
  ]);
  expect(rested.of("child").totalMs).toBe(2500);
});

test("the time that it only waits for a person is not counted, however long a silence is believed", () => {
  const question = { ask_id: "a", call_id: "c", question: "?", deadline_at: hour, default: null };
  const asking: readonly Line[] = [
    ["agent.asked", 2500, question],
    ["agent.answered", 602_500, { ask_id: "a" }],
  ];
  expect(usedBy([...life, ...asking]).of("child").totalMs).toBe(2000);
  expect(usedBy([...life, ...asking.slice(0, 1)]).totalAt("child", hour)).toBeNull();
  // Those above it say nothing as long.
  const parent = life.map(([type, at, payload = {}]): Line => [type, at, payload, "parent"]);
  const joining: Line = ["agent.tool_started", 1500, { call_id: "c", joins: true }, "parent"];
  const [created, ...rest] = life;
  const child: readonly Line[] = [
    ["agent.subagent_created", created?.[1] ?? 0, { parent_id: "parent" }],
    ...rest,
  ];
  const joined: Line = ["agent.tool_completed", 603_000, { call_id: "c" }, "parent"];
  expect(usedBy([...parent, joining, ...child, ...asking, joined]).of("parent").totalMs).toBe(2500);
});
