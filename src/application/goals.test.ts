import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { expect, test } from "vitest";
import type { Script } from "../models/scripted/scripted-model.ts";
import { isDistributed, notOffered } from "../testing/alter-database.test-support.ts";
import { ofType, openEngine, type TestEngine, testProfile } from "../testing/engine-fixture.ts";
import { until } from "../testing/until.ts";
import { hear, idsIn, say, withoutIds } from "./commands/say.test-support.ts";

const profiles = [testProfile("worker", { tools: ["list_files"] })];

/** Plans one step for each goal, and works on it until its gate opens. */
function planning(open: Set<string>, begun: string[] = []): Script {
  return async ({ caller, messages, signal }) => {
    const { profile, task, turn } = caller;
    if (profile === "pair" || task === "aside") return "ok";
    if (profile === "worker") {
      begun.push(task);
      await until(`the gate of ${task}`, () => open.has(task) || signal.aborted);
      return `${task} is reached`;
    }
    if (turn > 1) return messages.at(-1)?.text ?? "";
    const step = { id: "do", title: `Do ${task}`, description: task, profile: "worker" };
    return { calls: [{ tool: "submit_plan", input: { goal: task, steps: [step] } }] };
  };
}

/** What was about to begin has begun when a run that waits for no goal is over. */
const runAside = (engine: TestEngine) => engine.run({ task: "aside", profile: "worker" });

const isOver = async ({ store }: TestEngine) => (await store.listRuns({ open: true })).length === 0;

const orchestrate = async (engine: TestEngine, goal: string, place = {}) =>
  say(engine, `/orchestrate ${goal}`, undefined, place);

test("goals are worked off one after the other, each with a plan, a result and an end of its own", async () => {
  const [open, begun] = [new Set<string>(), [] as string[]];
  await using engine = await openEngine({ profiles, model: planning(open, begun) });
  const replies = [];
  for (const goal of ["one", "two", "three"]) replies.push(await orchestrate(engine, goal));
  expect(replies.map(({ reply }) => withoutIds(reply))).toEqual([
    "Started orchestrator#D in run R.",
    "Queued orchestrator#D in run R: it begins when run R has ended.",
    "Queued orchestrator#D in run R: it begins when run R has ended.",
  ]);
  const runs = replies.map((reply) => idsIn(reply).runId);
  expect(replies[2]?.reply).toContain(`when run ${runs[1]} has ended`);
  await until("it begins", () => begun.length === 1);
  const status = await hear(engine, "/status");
  expect(status.split("\n").slice(1)).toEqual([
    "- orchestrator#D queued, 0 tokens, run R: three",
    "- orchestrator#D queued, 0 tokens, run R: two",
    expect.stringMatching(/^- orchestrator#D running \(\w+\), \d+ tokens, run R: one$/),
    expect.stringMatching(/^- worker#D running \(model\), 0 tokens, run R: Do one$/),
  ]);
  expect(await hear(engine, "/inbox all")).toContain(
    "- A queued run waits: three: It begins when run R has ended. [R]",
  );
  // A queued goal is nothing that could be watched, so this is about the one that works.
  expect(await hear(engine, "/pair on")).toBe("pair#D watches R.");
  for (const goal of ["one", "two", "three"]) {
    await until(`${goal} begins`, () => begun.includes(goal));
    expect(begun.at(-1)).toBe(goal);
    open.add(goal);
  }
  await until("all runs end", () => isOver(engine));
  expect(begun).toEqual(["one", "two", "three"]);
  const ends: (number | undefined)[] = [];
  for (const [place, id] of runs.entries()) {
    const events = await engine.events(id);
    expect(ofType(events, "run.planned")).toHaveLength(1);
    expect(ofType(events, "run.finished")[0]?.payload.outcome).toBe("succeeded");
    const [started] = ofType(events, "agent.subagent_started");
    if (place > 0) expect(started?.seq).toBeGreaterThan(ends[place - 1] ?? 0);
    ends.push(ofType(events, "run.finished")[0]?.seq);
    expect((await engine.engine.resultOf(id))?.status).toBe("completed");
  }
  const inbox = await hear(engine, "/inbox all");
  for (const goal of ["one", "two", "three"]) {
    expect(inbox).toContain(`- Run succeeded: ${goal}: Plan completed`);
  }
});

test("a goal that waits can be cancelled, and one that fails or is cancelled lets the next begin", async () => {
  const [open, begun] = [new Set<string>(), [] as string[]];
  await using engine = await openEngine({ profiles, model: planning(open, begun) });
  const [one, two, three, four] = [
    idsIn(await orchestrate(engine, "one")),
    idsIn(await orchestrate(engine, "two")),
    idsIn(await orchestrate(engine, "three")),
    idsIn(await orchestrate(engine, "four")),
  ];
  await until("it begins", () => begun.length === 1);
  expect(await hear(engine, `/cancel ${two.runId}`)).toBe("Cancelled R.");
  await runAside(engine);
  // The one before it has not ended.
  expect(begun).toEqual(["one"]);
  expect(await hear(engine, `/cancel ${one.delegationId}`)).toBe("Cancelled D.");
  await until("it begins", () => begun.length === 2);
  expect(begun).toEqual(["one", "three"]);
  open.add("three").add("four").add("two");
  await until("all runs end", () => isOver(engine));
  expect(begun).toEqual(["one", "three", "four"]);
  const outcomes = await Promise.all(
    [one, two, three, four].map(async ({ runId }) => (await engine.store.readRun(runId))?.outcome),
  );
  expect(outcomes).toEqual(["cancelled", "cancelled", "succeeded", "succeeded"]);
  const events = await engine.events(two.runId);
  expect(ofType(events, "agent.subagent_started")).toEqual([]);
  expect(await hear(engine, `/resume ${two.runId}`)).toBe("Resumed R as D in run R.");
  await until("all runs end", () => isOver(engine));
  expect(begun.at(-1)).toBe("two");
});

test("goals that were queued outlive their process, and keep their order", async () => {
  const [open, begun] = [new Set<string>(), [] as string[]];
  await using engine = await openEngine({ profiles, model: planning(open, begun) });
  for (const goal of ["one", "two", "three"]) await orchestrate(engine, goal);
  await until("it begins", () => begun.length === 1);
  engine.abandon();
  const later: string[] = [];
  await using second = await engine.another({ profiles, model: planning(open, later) });
  expect(await hear(second, "/status")).toMatch(/interrupted/);
  const recovered = await second.engine.recover();
  expect(recovered).toHaveLength(3);
  await until("it begins again", () => later.length === 1);
  await runAside(second);
  expect(later).toEqual(["one"]);
  expect(withoutIds((await orchestrate(second, "four")).reply)).toMatch(/^Queued/);
  for (const goal of ["one", "two", "three", "four"]) open.add(goal);
  await Promise.all(recovered.map(({ result }) => result));
  await until("all runs end", () => isOver(second));
  expect(later).toEqual(["one", "two", "three", "four"]);
  await second.engine.recover();
  expect(later).toHaveLength(4);
});

test("a goal waits for one that another process works on, and for none that nobody does", async ({
  skip,
}) => {
  skip(isDistributed, notOffered.ownership);
  const [open, begun] = [new Set<string>(), [] as string[]];
  await using engine = await openEngine({ profiles, model: planning(open, begun) });
  await orchestrate(engine, "one");
  await until("it begins", () => begun.length === 1);
  const others: string[] = [];
  await using second = await engine.another({ profiles, model: planning(open, others) });
  const { behind } = (await orchestrate(second, "two")).ok
    ? await second.engine.startRun({
        task: "three",
        profile: "orchestrator",
        workspace: second.workspace,
        isGoal: true,
      })
    : { behind: undefined };
  expect(behind).toMatch(/^r/);
  await runAside(second);
  expect(others).toEqual([]);
  engine.abandon();
  // Nobody works on the first one any more; it stays for whoever takes it up.
  open.add("two").add("three");
  await until("they begin", () => others.length === 2);
  expect(others).toEqual(["two", "three"]);
  await until("both end", async () => (await second.store.listRuns({ open: true })).length === 1);
  open.add("one");
  await Promise.all((await second.engine.recover()).map(({ result }) => result));
});

test("goals of other workspaces, and runs that are no goals, do not wait", async () => {
  const [open, begun] = [new Set<string>(), [] as string[]];
  await using engine = await openEngine({ profiles, model: planning(open, begun) });
  const elsewhere = join(engine.home, "..", "elsewhere");
  mkdirSync(elsewhere);
  await orchestrate(engine, "one");
  await orchestrate(engine, "two");
  expect(withoutIds((await orchestrate(engine, "far", { workspace: elsewhere })).reply)).toBe(
    "Started orchestrator#D in run R.",
  );
  expect(await hear(engine, "/spawnagent orchestrator beside")).toBe(
    "Started orchestrator#D in run R.",
  );
  await until("it begins", () => begun.length === 3);
  expect(begun.toSorted()).toEqual(["beside", "far", "one"]);
  for (const goal of ["one", "two", "far", "beside"]) open.add(goal);
  await until("all runs end", () => isOver(engine));
  expect(begun.at(-1)).toBe("two");
});

test("goals that are given at the same moment do not begin together", async () => {
  const [open, begun] = [new Set(["a", "b", "c", "d", "e"]), [] as string[]];
  let [atWork, most] = [0, 0];
  const plan = planning(open, begun);
  const model: Script = async (request) => {
    if (request.caller.depth === 0) return plan(request);
    most = Math.max(most, ++atWork);
    await delay(10);
    atWork--;
    return plan(request);
  };
  await using engine = await openEngine({ profiles, model });
  await Promise.all([...open].map((goal) => orchestrate(engine, goal)));
  await until("all runs end", () => isOver(engine));
  expect([begun.length, most]).toEqual([5, 1]);
});

test("a goal that waits has no runs of other folders read", async () => {
  const [open, begun] = [new Set<string>(), [] as string[]];
  await using engine = await openEngine({ profiles, model: planning(open, begun) });
  const elsewhere = join(engine.home, "..", "elsewhere");
  mkdirSync(elsewhere);
  const other = idsIn(await orchestrate(engine, "other", { workspace: elsewhere })).runId;
  const first = idsIn(await orchestrate(engine, "first")).runId;
  await orchestrate(engine, "second");
  await until("it begins", () => begun.length === 2);
  const read: string[] = [];
  const { readRun } = engine.store;
  engine.store.readRun = (id) => {
    read.push(id);
    return readRun.call(engine.store, id);
  };
  // It looks once a second, whether anything happened or not.
  await until("the first one is read", () => read.includes(first ?? ""));
  expect(read).not.toContain(other);
  engine.store.readRun = readRun;
  for (const goal of ["other", "first", "second"]) open.add(`Do ${goal}`).add(goal);
  await until("all runs end", () => isOver(engine));
});
