import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import type { StoredEvent } from "../../events/event.ts";
import type { Script } from "../../models/scripted/scripted-model.ts";
import { ofType, openEngine, type TestEngine, testProfile } from "../../testing/engine-fixture.ts";
import { initRepository } from "../../testing/git-workspace.test-support.ts";
import { until } from "../../testing/until.ts";

const profiles = [
  testProfile("worker", { tools: ["list_files"] }),
  testProfile("writer", { tools: ["write_file"] }),
  testProfile("reviewer", { tools: [], workspace: { allowWrites: false } }),
];

const options = { profiles, maxConcurrent: 2 };

const step = (id: string, fields: object = {}) => ({
  id,
  title: id,
  description: id,
  profile: "worker",
  ...fields,
});

type Request = Parameters<TestEngine["start"]>[0];

/** Runs until this many transactions are on disk, then the process dies; false: it finished first. */
async function dieAfter(commits: number, mandate: TestEngine, request: Request) {
  let seen = 0;
  const died = new Promise<true>((resolve) => {
    mandate.store.subscribe(() => {
      seen += 1;
      if (seen !== commits) return;
      mandate.abandon();
      resolve(true);
    });
  });
  const finished = mandate.start(request).then(({ result }) => result);
  return Promise.race([died, finished.then(() => false)]);
}

async function recoverIn(mandate: TestEngine, model: Script) {
  await using second = await mandate.another({ ...options, model });
  const recovered = await second.engine.recover();
  await Promise.all(recovered.map(({ result }) => result));
  const [row] = await second.store.listRuns({});
  const result = row && (await second.engine.resultOf(row.id));
  return { result, events: row ? await second.events(row.id) : [] };
}

/** What must be the same whether or not anybody died: who did what, how often, and how it ended. */
function told(events: readonly StoredEvent[], text: string) {
  const [root, ...children] = ofType(events, "agent.subagent_created");
  const endOf = (id: string | undefined) =>
    ofType(events, "agent.subagent_closed", id)[0]?.payload.final_status;
  return {
    text: text.replaceAll(/\b[0-9a-f]{6}\b/g, "id"),
    root: endOf(root?.sub_agent_id),
    children: children
      .map(({ payload, sub_agent_id }) => `${payload.call_id} ${endOf(sub_agent_id)}`)
      .sort(),
    plans: ofType(events, "run.planned").length,
    outcome: ofType(events, "run.finished").map(({ payload }) => payload),
  };
}

const plans = {
  "branches, a retry and a review": {
    steps: [
      step("base", { review: true }),
      step("left", { depends_on: ["base"], retries: 1 }),
      step("right", { depends_on: ["base"], owns: ["x"] }),
      step("also", { owns: ["x/y"] }),
      step("end", { depends_on: ["left", "right"] }),
    ],
  },
  "a step that fails while others go on": {
    steps: [
      step("bad"),
      step("slow"),
      step("after", { depends_on: ["slow"] }),
      step("never", { depends_on: ["bad"] }),
    ],
  },
};

/** What is called bad fails, and so does the first child that is asked for "left". */
function makeWorker(): Script {
  let first: string | undefined;
  return ({ caller }) => {
    const { delegationId, task } = caller;
    if (task === "left") first ??= delegationId;
    const isBad = task === "bad" || delegationId === first;
    if (isBad) return { text: "x", served: "other/model", latency_ms: task === "bad" ? 60 : 1 };
    return { text: `${task} is done`, latency_ms: 1 + (task.charCodeAt(0) % 3) };
  };
}

test.each(Object.entries(plans))(
  "a process may die after any transaction of a plan with %s",
  async (_title, plan) => {
    const request = { task: JSON.stringify(plan), profile: "plan-runner" };
    let expected: unknown;
    {
      await using undisturbed = await openEngine({ ...options, model: makeWorker() });
      const { events, result } = await undisturbed.run(request);
      expected = told(events, result.result);
      expect(result.result).toMatch(/^Plan (?:completed|failed)/m);
    }
    let points = 0;
    for (let commits = 1; ; commits++) {
      const model = makeWorker();
      await using mandate = await openEngine({ ...options, model });
      if (!(await dieAfter(commits, mandate, request))) break;
      points = commits;
      const { events, result } = await recoverIn(mandate, model);
      expect(told(events, result?.result ?? ""), `died after ${commits}`).toEqual(expected);
    }
    expect(points).toBeGreaterThan(5);
  },
  60_000,
);

test("what was merged of a plan is the same wherever its process died", async () => {
  const files = ["a", "b", "c"];
  const steps = [
    ...files.map((id) => step(id, { profile: "writer", owns: [`${id}.txt`] })),
    step("d", { profile: "writer", owns: ["a.txt"], depends_on: ["b", "c"] }),
  ];
  const script: Script = ({ caller }) => {
    if (caller.turn > 1) return "written";
    const path = caller.task === "d" ? "a.txt" : `${caller.task}.txt`;
    return { calls: [{ tool: "write_file", input: { path, content: caller.task } }] };
  };
  let deaths = 0;
  for (let commits = 4; ; commits += 6) {
    await using mandate = await openEngine({ ...options, model: script });
    const { workspace } = mandate;
    initRepository(workspace, { "a.txt": "old", "b.txt": "old" });
    const request = { task: JSON.stringify({ steps }), profile: "plan-runner", workspace };
    if (!(await dieAfter(commits, mandate, request))) break;
    deaths++;
    const { result } = await recoverIn(mandate, script);
    expect(result?.result, `died after ${commits}`).toMatch(/^Plan completed: all 4 steps/);
    const read = (name: string): string => readFileSync(join(workspace, `${name}.txt`), "utf8");
    expect(files.map(read)).toEqual(["d", "b", "c"]);
  }
  expect(deaths).toBeGreaterThan(2);
}, 120_000);

/** A plan that is cancelled while its step "b" is stuck: "a" and "side" are done by then. */
async function cancelledAtB(mandate: TestEngine, request: Request): Promise<string> {
  const { result, runId } = await mandate.start(request);
  const ends = async () => ofType(await mandate.events(runId), "agent.subagent_closed").length;
  const begun = async () => ofType(await mandate.events(runId), "agent.subagent_started").length;
  await until("only b is left", async () => (await ends()) >= 2 && (await begun()) >= 4);
  await mandate.engine.cancel(runId, "enough");
  expect((await result).status).toBe("cancelled");
  return runId;
}

/** Waits until a plan that was resumed at b asks its model. */
async function stuckAtB(mandate: TestEngine, runId: string): Promise<void> {
  await until("b asks its model", async () => {
    return ofType(await mandate.events(runId), "agent.budget_reserved").length >= 2;
  });
}

/** Writes what it is told; "b" is stuck as long as somebody says so. */
function writing(state: { isStuck: boolean; readonly done: string[] }): Script {
  return ({ caller }) => {
    const { task, turn } = caller;
    if (task === "b" && state.isStuck) return { fault: "hang" };
    if (turn > 1) {
      state.done.push(task);
      return `${task} is written`;
    }
    return { calls: [{ tool: "write_file", input: { path: `${task}.txt`, content: task } }] };
  };
}

const written = (id: string, fields: object = {}) =>
  step(id, { profile: "writer", owns: [`${id}.txt`], ...fields });

const interruptible = {
  goal: "four files",
  steps: [
    written("a"),
    written("side"),
    written("b", { depends_on: ["a"] }),
    written("c", { depends_on: ["a", "b"] }),
  ],
};

test("a plan that was cancelled goes on at the step that it was in", async () => {
  const state = { isStuck: true, done: [] as string[] };
  await using mandate = await openEngine({ ...options, model: writing(state) });
  const { workspace } = mandate;
  initRepository(workspace, { "a.txt": "old" });
  const request = { task: JSON.stringify(interruptible), profile: "plan-runner", workspace };
  const runId = await cancelledAtB(mandate, request);
  // Both can begin at once, and either may be the first.
  const before = ofType(await mandate.events(runId), "agent.subagent_created");
  const idOf = (title: string) =>
    before.find(({ payload }) => payload.title === title)?.sub_agent_id;
  state.isStuck = false;
  const resumed = await mandate.engine.resume(runId);
  const result = await resumed.result;
  expect(result.result).toMatch(/^Plan completed: all 4 steps/);
  expect(result.result).toMatch(/\[a: COMPLETED EARLIER\] a \(writer, \w+\)\na is written/);
  expect(state.done.toSorted()).toEqual(["a", "b", "c", "side"]);
  const events = await mandate.events(resumed.runId);
  const made = ofType(events, "agent.subagent_created").map(({ payload }) => payload.title);
  expect(made.slice(1)).toEqual(["b", "c"]);
  const indexes = ofType(events, "agent.subagent_created").map(({ payload }) => payload.step_idx);
  expect(indexes).toEqual([0, 3, 4]);
  const [planned] = ofType(events, "run.planned");
  expect(planned?.payload.steps.map((one) => [one.key, one.done_by])).toEqual([
    ["a", idOf("a")],
    ["side", idOf("side")],
    ["b", undefined],
    ["c", undefined],
  ]);
  expect(ofType(events, "run.finished")[0]?.payload.outcome).toBe("succeeded");
  const files = ["a", "b", "c", "side"].map((id) =>
    readFileSync(join(workspace, `${id}.txt`), "utf8"),
  );
  expect(files).toEqual(["a", "b", "c", "side"]);
});

test("a plan that goes on may be cancelled and resumed again, and its process may die", async () => {
  const state = { isStuck: true, done: [] as string[] };
  const model = writing(state);
  await using mandate = await openEngine({ ...options, model });
  const { workspace } = mandate;
  initRepository(workspace, { "a.txt": "old" });
  const request = { task: JSON.stringify(interruptible), profile: "plan-runner", workspace };
  const first = await cancelledAtB(mandate, request);
  const again = await mandate.engine.resume(first);
  await stuckAtB(mandate, again.runId);
  await mandate.engine.cancel(again.runId, "enough");
  const dying = await mandate.another({ ...options, model });
  const third = await dying.engine.resume(again.runId);
  await stuckAtB(dying, third.runId);
  dying.abandon();
  state.isStuck = false;
  const { result } = await recoverIn(mandate, model);
  expect(result?.result).toMatch(/^Plan completed: all 4 steps/);
  expect(state.done.toSorted()).toEqual(["a", "b", "c", "side"]);
});

test("a step that is asked for otherwise, and what depends on it, is done again", async () => {
  const state = { isStuck: true, done: [] as string[] };
  const lead = testProfile("lead", {
    capabilities: ["orchestrator", "primary"],
    tools: ["submit_plan"],
    mayDelegate: { tools: ["write_file"] },
  });
  const changed = {
    ...interruptible,
    steps: interruptible.steps.map((one) =>
      one.id === "a" ? { ...one, success_criteria: ["it is new"] } : one,
    ),
  };
  const worker = writing(state);
  const model: Script = (request) => {
    const { caller, messages } = request;
    if (caller.profile !== "lead") return worker(request);
    if (caller.turn > 1) return messages.at(-1)?.text ?? "";
    return { calls: [{ tool: "submit_plan", input: state.isStuck ? interruptible : changed }] };
  };
  const all = { ...options, profiles: [...profiles, lead], model };
  await using mandate = await openEngine(all);
  const { workspace } = mandate;
  initRepository(workspace, { "a.txt": "old" });
  const runId = await cancelledAtB(mandate, { task: "go", profile: "lead", workspace });
  state.isStuck = false;
  const resumed = await mandate.engine.resume(runId);
  expect((await resumed.result).status).toBe("completed");
  expect(state.done.toSorted()).toEqual(["a", "a", "b", "c", "side"]);
  // What a person asks for next is new, though it is the same plan.
  const next = await mandate.engine.continueSession(resumed.runId, "once more");
  expect((await next.result).status).toBe("completed");
  expect(state.done).toHaveLength(9);
});
