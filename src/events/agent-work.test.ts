import { expect, test } from "vitest";
import { callEndIn, saidIn } from "./agent-work.ts";
import type { NewEvent } from "./event.ts";
import { addSpent, atMost, atMostCost, nothingSpent, spentOf } from "./spent.ts";
import { describePlan } from "./summarize.ts";

const reported = (payload: NewEvent<"agent.program_reported">["payload"]): NewEvent =>
  ({ type: "agent.program_reported", sub_agent_id: "a", payload }) as NewEvent;

const call = {
  ...{ what: "call" as const, call_id: "call_1", title: "npm test", kind: "execute" },
  input: '{"command":"npm test"}',
};

const turn = {
  requested: "anthropic/x",
  served: "x",
  usage: { prompt: 1, completion: 1, cost: 0 },
  finish_reason: "stop",
  text: "words",
};

test("a request of an agent program to a model is no turn of its agent", () => {
  const own = { type: "agent.model_turn", payload: turn } as NewEvent;
  const request = { type: "agent.model_turn", payload: { ...turn, request: 1 } } as NewEvent;
  expect(saidIn(own)).toEqual({ text: "words", calls: [], model: "x" });
  expect(saidIn(request)).toBeUndefined();
});

test("a call that a program reports begins once, ends once, and never has the id of a call of ours", () => {
  const begun = reported({ ...call, outcome: "begun" });
  const ended = reported({ ...call, outcome: "completed", output: "green" });
  const id = "program:call_1";
  const input = { command: "npm test" };
  expect(saidIn(begun)?.calls).toEqual([{ id, name: "execute", title: "npm test", input }]);
  expect(callEndIn(begun)).toBeUndefined();
  expect(saidIn(ended)).toBeUndefined();
  expect(callEndIn(ended)).toEqual({
    ...{ callId: id, tool: "execute", title: "npm test", input },
    ...{ outcome: "done", output: "green" },
  });
});

test("an input that is cut or no JSON is shown as text", () => {
  const begun = reported({ ...call, input: '{"command":"npm', outcome: "begun" });
  expect(saidIn(begun)?.calls[0]?.input).toBe('{"command":"npm');
});

test("a call of our tools has its input, and its end is that of the tool", () => {
  const called = {
    type: "agent.program_called",
    payload: { call_id: "call_1", tool: "delegate_task", input: { task: "x" } },
  } as NewEvent;
  expect(saidIn(called)?.calls).toEqual([
    { id: "call_1", name: "delegate_task", input: { task: "x" } },
  ]);
});

test("a plan is one line that says what is done", () => {
  const entries = [
    { text: "Read", status: "completed" },
    { text: "Write", status: "in_progress" },
    { text: "Test", status: "pending" },
  ];
  expect(describePlan({ what: "plan", entries })).toBe("Plan: [x] Read  [>] Write  [ ] Test");
});

test("amounts of an agent that nothing meters are marked, and so are sums with them", () => {
  const usage = { prompt: 0, completion: 0, cost: 0 };
  const sum = addSpent(nothingSpent, spentOf({ usage, unmetered: true }));
  expect(atMost("0", sum)).toBe("≥ 0");
  expect(atMostCost("$0", sum)).toBe("≥ $0");
  expect(atMostCost("$0", nothingSpent)).toBe("$0");
});
