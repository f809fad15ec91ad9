import { expect, test } from "vitest";
import { z } from "zod";
import { noExposure } from "../../contracts/exposure.ts";
import type { Script } from "../../models/scripted/scripted-model.ts";
import { ofType, openEngine, testProfile } from "../../testing/engine-fixture.ts";
import { HeldClock } from "../../testing/held-clock.test-support.ts";
import { until } from "../../testing/until.ts";
import { defineTool } from "../../tools/tool.ts";
import { replayAgain } from "./replay-again.test-support.ts";

const profiles = [testProfile("worker", { tools: ["list_files", "linger"] })];
const step = (id: string, fields: object = {}) => ({
  id,
  title: id,
  description: id,
  profile: "worker",
  ...fields,
});
const planOf = (...steps: object[]) => ({
  task: JSON.stringify({ steps }),
  profile: "plan-runner",
});
const config = { execution: { attemptTimeoutMs: 150, maxRetries: 1 } };

test("a step whose first attempt took too long is replayed with both", async () => {
  const clock = new HeldClock();
  const model: Script = ({ caller }) => {
    if (caller.attempt > 1) return `attempt ${caller.attempt}`;
    clock.pass(200);
    return { fault: "hang" };
  };
  await using engine = await openEngine({ clock, profiles, model, config });
  const { result, runId } = await engine.run(planOf(step("a")));
  expect(result.status).toBe("completed");
  expect((await replayAgain(engine.store, runId)).differences).toEqual([]);
});

test("a call that the end of an attempt cut is replayed as cut", async () => {
  const clock = new HeldClock();
  const mayEnd = Promise.withResolvers<string>();
  const linger = defineTool({
    name: "linger",
    description: "Takes its time.",
    effect: "exec",
    exposure: noExposure,
    idempotent: false,
    scopes: [],
    input: z.object({}),
    execute() {
      clock.pass(200);
      return mayEnd.promise;
    },
  });
  const model: Script = ({ caller }) =>
    caller.attempt === 1 ? { calls: [{ tool: "linger", input: {} }] } : "in time";
  await using engine = await openEngine({ clock, profiles, model, config, tools: [linger] });
  const { result, runId } = await engine.run(planOf(step("a")));
  expect(result.status).toBe("completed");
  expect((await replayAgain(engine.store, runId)).differences).toEqual([]);
  mayEnd.resolve("late");
});

test("a step of which no attempt was in time is replayed to its end", async () => {
  const clock = new HeldClock();
  const model: Script = () => {
    clock.pass(200);
    return { fault: "hang" };
  };
  await using engine = await openEngine({ clock, profiles, model, config });
  const { result, runId } = await engine.run(planOf(step("a")));
  expect(result.closeReason).toBe("exit_rule_unmet");
  expect((await replayAgain(engine.store, runId)).differences).toEqual([]);
});

test.each([
  ["that cannot be carried out", planOf(step("a", { profile: "nobody" })), "invalid_model_output"],
  ["that is none", { task: "Hello.", profile: "plan-runner" }, "invalid_model_output"],
])("a plan %s is replayed as refused", async (_title, request, reason) => {
  await using engine = await openEngine({ profiles, model: () => "done" });
  const { result, runId } = await engine.run(request);
  expect(result.closeReason).toBe(reason);
  expect((await replayAgain(engine.store, runId)).differences).toEqual([]);
});

test("a plan that a person did not want is replayed as refused", async () => {
  await using engine = await openEngine({ profiles, model: () => "done" });
  engine.store.subscribe((events) => {
    for (const event of events) {
      if (event.type === "agent.asked") void engine.engine.answer(event.payload.ask_id, "no");
    }
  });
  const plan = { approval: true, steps: [step("a")] };
  const request = { task: JSON.stringify(plan), profile: "plan-runner" };
  const { result, runId } = await engine.run(request);
  expect(result.closeReason).toBe("policy_denied");
  expect((await replayAgain(engine.store, runId)).differences).toEqual([]);
});

test("a plan that went on after it was cancelled is replayed with what was done before", async () => {
  let isStuck = true;
  const model: Script = ({ caller }) =>
    isStuck && caller.task === "b" ? { fault: "hang" } : `${caller.task} is done`;
  await using engine = await openEngine({ profiles, model });
  const { runId } = await engine.start(planOf(step("a"), step("b", { depends_on: ["a"] })));
  const begun = async () => ofType(await engine.events(runId), "agent.subagent_started").length;
  await until("the second step begins", async () => (await begun()) > 2);
  await engine.engine.cancel(runId, "enough");
  isStuck = false;
  const resumed = await engine.engine.resume(runId);
  expect((await resumed.result).status).toBe("completed");
  for (const id of [runId, resumed.runId]) {
    expect((await replayAgain(engine.store, id)).differences).toEqual([]);
  }
});

test("a goal that waited is replayed without waiting", async () => {
  await using engine = await openEngine({ profiles, model: () => "done" });
  const goal = { task: "go", profile: "worker", isGoal: true };
  const runs = [await engine.start(goal), await engine.start(goal)];
  for (const { result, runId } of runs) {
    expect((await result).status).toBe("completed");
    expect((await replayAgain(engine.store, runId)).differences).toEqual([]);
  }
});
