import { afterEach, beforeEach, expect, test } from "vitest";
import { Desk } from "../desk.test-support.ts";

const playbook = `
version: 1
replies:
  - when: { task: "bad" }
    text: "x"
    served: "other/model"
  - when: { profile: researcher, task: "slow" }
    text: "late"
    latency_ms: 60000
  - when: { profile: orchestrator, turn: 1 }
    calls:
      - tool: submit_plan
        input:
          goal: "{{task}}"
          steps: [{ id: do, title: Do, description: "look for {{task}}", profile: researcher }]
  - when: { profile: orchestrator }
    text: "{{task}} is reached"
  - text: "done: {{task}}"
`;

let desk: Desk;

beforeEach(() => {
  desk = new Desk();
  desk.write("book.yaml", playbook);
});

afterEach(() => desk.clear());

const words = (...goals: string[]) => [
  ...["run", "--playbook", "book.yaml"],
  ...goals.flatMap((goal) => ["--goal", goal]),
];

const violations = async () => JSON.parse((await desk.type(["verify", "--json"])).out).violations;

test("goals are reached one after the other, each with its own plan and result", async () => {
  const { code, err, out } = await desk.type(words("first", "second"));
  expect([code, out]).toEqual([0, "first is reached\nsecond is reached\n"]);
  expect(err).toMatch(/Goal 1 of 2, r\w+: first/);
  const runs = JSON.parse((await desk.type(["ls", "--json"])).out);
  expect(runs).toMatchObject([
    { task: "second", state: "succeeded", delegations: 2 },
    { task: "first", state: "succeeded", delegations: 2 },
  ]);
  expect(await violations()).toEqual([]);
});

test("a goal that fails does not keep the next one from its turn, and shows in the exit code", async () => {
  const { code, out } = await desk.type([...words("bad", "good"), "--json"]);
  const { goals } = JSON.parse(out);
  expect(code).toBe(1);
  expect(goals).toMatchObject([
    { goal: "bad", status: "failed", outcome: "failed", closeReason: "model_mismatch" },
    { goal: "good", status: "completed", outcome: "succeeded", result: "good is reached" },
  ]);
  expect(await violations()).toEqual([]);
});

test("Ctrl-C cancels the goal at work and those that wait", async () => {
  const typing = desk.start(words("slow", "next", "last"));
  while (!typing.soFar().err.includes("researcher")) {
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  typing.signal("SIGINT");
  const { code } = await typing.done;
  expect(code).toBe(130);
  const runs = JSON.parse((await desk.type(["ls", "--json"])).out);
  expect(runs.map(({ state }: { state: string }) => state)).toEqual(["failed", "failed", "failed"]);
  expect(await violations()).toEqual([]);
});

test.each([
  [["--goal", "a", "and a task"], /A task cannot be given beside --goal/],
  [["--goal", "a", "--plan", "plan.yaml"], /--plan cannot be given beside --goal/],
  [["--goal", "a", "--dry-run"], /--dry-run cannot be given beside --goal/],
  [["--goal", " "], /A --goal is empty/],
])("%j does not go together", async (given, says) => {
  const { code, err } = await desk.type(["run", "--playbook", "book.yaml", ...given]);
  expect(code).toBe(2);
  expect(err).toMatch(says);
});
