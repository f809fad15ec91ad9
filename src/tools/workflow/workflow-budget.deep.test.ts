import { expect, test } from "vitest";
import { defaultConfig } from "../../control/config.ts";
import { ofType, openEngine, testProfile } from "../../testing/engine-fixture.ts";
import { echoModel, requestOf } from "./workflow-run.test-support.ts";

const prices = { "scripted/playbook": { input: 1000, output: 1000 } };
const options = {
  profiles: [testProfile("general", { tools: [] })],
  config: { models: { providers: {}, pools: {}, prices } },
  limits: { maxOutputTokens: 400, maxRetries: 0 },
};

const fan = `const all = await parallel(Array.from({ length: 100 }, (_, i) => () => agent("task " + (100 + i))))
  return all.filter(Boolean).length`;

/** Every request costs all that was reserved for it. */
async function fanOut(maxCost: number | undefined, script: string) {
  let spent = 0;
  let asked = 0;
  await using mandate = await openEngine({
    ...options,
    model({ maxOutputTokens = 400, messages }) {
      const bytes = JSON.stringify(messages).length;
      asked += 1;
      const usage = { prompt: bytes, completion: maxOutputTokens };
      spent += (usage.prompt + usage.completion) / 1000;
      return { text: "done", usage };
    },
  });
  const request = await requestOf(mandate, script, maxCost === undefined ? {} : { maxCost });
  const { events, result } = await mandate.run(request);
  const reserved = ofType(events, "agent.budget_reserved").map(({ payload }) => payload.cost ?? 0);
  const settled = ofType(events, "agent.workflow_settled").map(({ payload }) => payload);
  return { asked, result, worst: Math.max(...reserved), settled, spent };
}

test("100 thunks on a cap for 10 worst cases spend at most the cap, and at least 10 run", async () => {
  const { worst } = await fanOut(undefined, `return await agent("task 100")`);
  const cap = 10 * worst;
  const { result, settled, spent } = await fanOut(cap, fan);
  expect(spent).toBeLessThanOrEqual(cap);
  const ran = Number(result.result);
  expect(ran).toBeGreaterThanOrEqual(10);
  expect(settled.filter(({ outcome }) => outcome === "error")).toHaveLength(100 - ran);
  const caught = await fanOut(
    cap,
    fan.replace(
      "return all",
      `let n = 0; for (let i = 0; i < 5; i++) try { await agent("more " + i) } catch { n++ }
      return n + "/" + all`,
    ),
  );
  expect(caught.result.result).toMatch(/^5\//);
});

test("output tokens that are used up make agent() throw", async () => {
  await using mandate = await openEngine({ ...options, model: echoModel() });
  const script = `const out = []
    while (true) try { out.push(await agent("ECHO<" + out.length + ">")) } catch (e) { return [out.length, budget.total, budget.spent(), e.message] }`;
  const request = await requestOf(mandate, script, { limits: { outputTokens: 12 } });
  const { result } = await mandate.run(request);
  const message = "The budget of 12 output tokens is used up.";
  expect(JSON.parse(result.result)).toEqual([3, 12, 15, message]);
});

test("one agent more than the limit throws", async () => {
  await using mandate = await openEngine({ ...options, model: echoModel() });
  const script = `const all = await parallel(Array.from({ length: 5 }, () => () => agent("ECHO<x>")))
    try { await agent("ECHO<y>") } catch (e) { return [all.length, e.message] }`;
  const request = await requestOf(mandate, script, { limits: { maxAgents: 5 } });
  const { result } = await mandate.run(request);
  expect(JSON.parse(result.result)).toEqual([5, "A workflow has at most 5 agents."]);
});

test("no more agents work at once than the script is given", async () => {
  let most = 0;
  let now = 0;
  await using mandate = await openEngine({
    ...options,
    maxConcurrent: 8,
    async model() {
      most = Math.max(most, ++now);
      await new Promise((resolve) => setImmediate(resolve));
      now -= 1;
      return "done";
    },
  });
  const script = fan.replace("100 }", "12 }");
  await mandate.run(await requestOf(mandate, script, { limits: { maxConcurrent: 2 } }));
  expect(most).toBe(2);
});

test("the 1,001st agent throws, and the others have answered", async () => {
  const limits = { ...defaultConfig.limits, maxChildren: 2000 };
  await using mandate = await openEngine({
    ...options,
    config: { limits },
    model: ({ caller }) => caller.task,
  });
  const script = `const all = await parallel(Array.from({ length: 1000 }, (_, i) => () => agent("n" + i)))
    const more = await parallel([() => agent("more")])
    try { await agent("one more") } catch (e) { return [all.filter((text, i) => text === "n" + i).length, more, e.message] }`;
  const { events, result } = await mandate.run(await requestOf(mandate, script));
  const message = "A workflow has at most 1000 agents.";
  expect(JSON.parse(result.result)).toEqual([1000, [null], message]);
  expect(ofType(events, "agent.subagent_created")).toHaveLength(1001);
});
