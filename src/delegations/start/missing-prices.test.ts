import { describe, expect, it } from "vitest";
import { type Script, scriptedModel } from "../../models/scripted/scripted-model.ts";
import type { RunRequest } from "../../ports/delegator.ts";
import {
  type EngineOptions,
  ofType,
  openEngine,
  testProfile,
} from "../../testing/engine-fixture.ts";

const prices = { "test/priced": { input: 1, output: 1 }, "test/free": { input: 0, output: 0 } };
const config = { models: { providers: {}, pools: {}, prices } };
const on = (model: string, more: object = {}) => ({ tools: [], model: { model }, ...more });

/** Runs on models of the names used here, and says which of them were asked. */
async function run(
  profiles: NonNullable<EngineOptions["profiles"]>,
  request: Partial<RunRequest> = {},
  answer: Script = () => ({ text: "done", usage: { prompt: 10, completion: 1 } }),
) {
  const asked: string[] = [];
  const model = scriptedModel((request) => {
    asked.push(request.model);
    return answer(request);
  });
  await using mandate = await openEngine({ profiles, models: { test: model }, config });
  const outcome = await mandate
    .run({ task: "go", profile: "root", ...request })
    .catch((error: unknown) => error as Error);
  return { asked, outcome };
}

const refusal = /"test\/unknown".*models: \{ prices: \{ "test\/unknown": \{ input/;

describe("a cost cap over a model whose price is not known", () => {
  it.each([
    ["of the call", {}, { maxCost: 1 }],
    ["of the profile", { limits: { cost: 1 } }, {}],
  ])(
    "%s is refused before the first request, and says how to set the price",
    async (_, own, call) => {
      const { asked, outcome } = await run([testProfile("root", on("test/unknown", own))], call);
      expect(asked).toEqual([]);
      expect(outcome).toMatchObject({ code: "refused-by-policy" });
      expect(outcome).toHaveProperty("message", expect.stringMatching(refusal));
    },
  );

  it("is refused for a child under its caller's cap, and the caller reads why", async () => {
    const root = testProfile("root", on("test/priced", { tools: ["delegate_task"] }));
    const child = testProfile("child", on("test/unknown"));
    const { asked, outcome } = await run([root, child], { maxCost: 9 }, ({ caller, messages }) => {
      const usage = { prompt: 10, completion: 1 };
      if (caller.turn > 1) return { text: JSON.stringify(messages.at(-1)), usage };
      return { calls: [{ tool: "delegate_task", input: { profile: "child", task: "x" } }], usage };
    });
    expect(asked).toEqual(["test/priced", "test/priced"]);
    expect(outcome).toHaveProperty("result.result", expect.stringContaining("is not known"));
  });

  it("is refused for a watcher under the root's own cap", async () => {
    const root = testProfile("root", on("test/priced", { limits: { cost: 9 } }));
    const pair = testProfile("pair", on("test/unknown", { capabilities: ["watcher"] }));
    const { asked, outcome } = await run([root, pair], { watchers: ["pair"] });
    expect(asked).not.toContain("test/unknown");
    expect(outcome).toHaveProperty("message", expect.stringMatching(refusal));
  });

  it("drops a fallback, says so in the receipt, and never asks it", async () => {
    const model = { model: "test/priced", fallbacks: ["test/unknown", "test/free"] };
    const root = testProfile("root", { tools: [], model });
    const { asked, outcome } = await run([root], { maxCost: 9 }, ({ model }) =>
      model === "test/priced" ? { fault: "rejected" } : { text: "done" },
    );
    if (outcome instanceof Error) throw outcome;
    expect(asked).toEqual(["test/priced", "test/free"]);
    const [created] = ofType(outcome.events, "agent.subagent_created");
    expect(created?.payload.receipt).toContainEqual(
      expect.objectContaining({ field: "fallbacks", dropped: ["test/unknown"] }),
    );
  });

  it.each([
    ["no cap", "test/unknown", {}],
    ["a price", "test/priced", { maxCost: 1 }],
    ["a price of zero", "test/free", { maxCost: 1 }],
    ["the scripted model", "scripted/playbook", { maxCost: 1 }],
  ])("is no obstacle with %s", async (_, model, request) => {
    await using mandate = await openEngine({
      profiles: [testProfile("root", on(model))],
      models: { test: scriptedModel(() => "done"), scripted: scriptedModel(() => "done") },
      config,
    });
    const { result } = await mandate.run({ task: "go", profile: "root", ...request });
    expect(result).toMatchObject({ status: "completed", result: "done" });
  });
});
