import { describe, expect, it } from "vitest";
import type { ModelRequest } from "../ports/model.ts";
import { exampleRequest } from "./example-request.test-support.ts";
import { createModelRegistry } from "./model-registry.ts";
import { planModelName, runnerModels } from "./plan-model.ts";
import { scriptedModel } from "./scripted/scripted-model.ts";

const planModel = runnerModels[planModelName];

const plan = { goal: "g", steps: [{ title: "t" }] };

function request(task: string, turn: number, messages: ModelRequest["messages"]): ModelRequest {
  const base = exampleRequest();
  return { ...base, model: planModelName, messages, caller: { ...base.caller, task, turn } };
}

const ask = (task: string, context = "") =>
  planModel(
    request(task, 1, [{ role: "user", text: `Context:\n${context}\n\nTask:\n${task}` }]),
    () => undefined,
  );

const hear = (text: string, isError: boolean) =>
  planModel(
    request("x", 2, [{ role: "tool", callId: "1", tool: "submit_plan", text, isError }]),
    () => undefined,
  );

describe("the model that runs plans", () => {
  it("submits the plan that its task is, or the stored one that its context names", async () => {
    const [inline] = (await ask(JSON.stringify(plan))).calls;
    expect(inline).toMatchObject({ name: "submit_plan", input: plan });
    const hash = "0a".repeat(32);
    const [stored] = (await ask("Run the plan", `plan ${hash}`)).calls;
    expect(stored?.input).toEqual({ plan: hash });
  });

  it("answers with the report, and costs nothing", async () => {
    const reply = await hear("Plan completed", false);
    expect(reply).toMatchObject({ text: "Plan completed", calls: [], finish: "stop" });
    expect(reply.usage).toEqual({ prompt: 0, completion: 0 });
  });

  it("says so when the plan was not run, and when there is none", async () => {
    expect((await hear("Error: no.", true)).text).toBe("The plan was not run. Error: no.");
    const reply = await ask("write a poem");
    expect(reply.calls).toEqual([]);
    expect(reply.text).toMatch(/is no language model: it runs a plan/);
  });

  it("can be had whatever is allowed, scripted or configured", () => {
    const scripted = scriptedModel(() => "no");
    for (const more of [{}, { scripted }, { models: { mandate: scripted } }]) {
      const registry = createModelRegistry({ environment: {}, config: { allow: [] }, ...more });
      expect(registry.resolve(planModelName)).toBe(planModel);
      expect(registry.candidates({ model: planModelName })).toEqual([planModelName]);
    }
  });
});
