import { afterEach, beforeEach, expect, test } from "vitest";
import { Desk, type Typing, until } from "../desk.test-support.ts";

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

const queued = ["run", "--playbook", "book.yaml", "-p", "orchestrator"];
const words = (...tasks: string[]) => [...queued, ...tasks.flatMap((task) => ["--queue", task])];

const violations = async () => JSON.parse((await desk.type(["verify", "--json"])).out).violations;

test("queued tasks run one after the other, each with its own plan and result", async () => {
  const { code, err, out } = await desk.type(words("first", "second"));
  expect([code, out]).toEqual([0, "first is reached\nsecond is reached\n"]);
  expect(err).toMatch(/Task 1 of 2, r\w+: first/);
  const runs = JSON.parse((await desk.type(["ls", "--json"])).out);
  expect(runs).toMatchObject([
    { task: "second", state: "succeeded", delegations: 2 },
    { task: "first", state: "succeeded", delegations: 2 },
  ]);
  expect(await violations()).toEqual([]);
});

test("a queued run that fails does not stop the next one, and shows in the exit code", async () => {
  const { code, out } = await desk.type([...words("bad", "good"), "--json"]);
  const { runs } = JSON.parse(out);
  expect(code).toBe(1);
  expect(runs).toMatchObject([
    { task: "bad", status: "failed", outcome: "failed", closeReason: "model_mismatch" },
    { task: "good", status: "completed", outcome: "succeeded", result: "good is reached" },
  ]);
  expect(await violations()).toEqual([]);
});

/** By what they were asked to reach. */
async function runsByTask(): Promise<Readonly<Record<string, { id: string; state: string }>>> {
  const runs = JSON.parse((await desk.type(["ls", "--json"])).out);
  return Object.fromEntries(runs.map((run: { task: string }) => [run.task, run]));
}

/** The first is reached, the second works, and the third waits for it. */
async function atWorkOnTheSecond(): Promise<Typing> {
  const typing = desk.start(words("first", "slow", "last"));
  const atWork = () => typing.soFar().err.split("created as researcher").length - 1;
  await until(() => atWork() === 2, "work on the second");
  return typing;
}

test("Ctrl-C cancels the queued run at work and those that wait, and names each of them", async () => {
  const typing = await atWorkOnTheSecond();
  typing.signal("SIGINT");
  const { code, err } = await typing.done;
  expect(code).toBe(130);
  const { first, slow, last } = await runsByTask();
  expect([first?.state, slow?.state, last?.state]).toEqual(["succeeded", "cancelled", "cancelled"]);
  expect(err).toContain(
    `mandate: ${slow?.id}, ${last?.id} were cancelled. Resume: mandate resume ${slow?.id}; mandate resume ${last?.id}\n`,
  );
  expect(err).not.toContain(`resume ${first?.id}`);
  expect(await violations()).toEqual([]);
});

test("a signal of the system names every queued run that has not ended, and how to resume it", async () => {
  const typing = await atWorkOnTheSecond();
  typing.signal("SIGTERM");
  const { code, err } = await typing.done;
  expect(code).toBe(143);
  const { first, slow, last } = await runsByTask();
  expect([first?.state, slow?.state, last?.state]).toEqual([
    "succeeded",
    "interrupted",
    "interrupted",
  ]);
  expect(err).toContain(
    `mandate: stopped by the system; ${slow?.id}, ${last?.id} are not finished. Resume: mandate resume ${slow?.id}; mandate resume ${last?.id}\n`,
  );
  expect(err).not.toContain(`resume ${first?.id}`);
  const resumed = await desk.type(["resume", last?.id ?? ""]);
  expect(resumed).toMatchObject({ code: 0, out: "last is reached\n" });
  expect(await violations()).toEqual([]);
});

test("without a profile, the pinned or the general agent works on queued tasks", async () => {
  const typed = ["run", "--playbook", "book.yaml", "--queue", "one", "--queue", "two"];
  expect(await desk.type(typed)).toMatchObject({ code: 0, out: "done: one\ndone: two\n" });
});

test("--goal, the older name of --queue, uses the orchestrator and reports goals", async () => {
  const typed = ["run", "--playbook", "book.yaml", "--goal", "first", "--goal", "second", "--json"];
  const { code, out } = await desk.type(typed);
  expect(code).toBe(0);
  expect(JSON.parse(out).goals).toMatchObject([
    { goal: "first", profile: "orchestrator", result: "first is reached" },
    { goal: "second", profile: "orchestrator", result: "second is reached" },
  ]);
  expect((await desk.type(["help", "run"])).out).not.toContain("goal");
});

test.each([
  [["--queue", "a", "and a task"], /A task cannot be given beside --queue/],
  [["--queue", "a", "--plan", "plan.yaml"], /--plan cannot be given beside --queue/],
  [["--queue", "a", "--dry-run"], /--dry-run cannot be given beside --queue/],
  [["--queue", "a", "--goal", "b"], /--queue cannot be given beside --goal/],
  [["--goal", "a", "--plan", "plan.yaml"], /--plan cannot be given beside --goal/],
  [["--queue", " "], /A --queue is empty/],
])("%j does not go together", async (given, says) => {
  const { code, err } = await desk.type(["run", "--playbook", "book.yaml", ...given]);
  expect(code).toBe(2);
  expect(err).toMatch(says);
});
