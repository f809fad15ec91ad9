import { execFileSync } from "node:child_process";
import { expect, test } from "vitest";
import type { Model } from "../ports/model.ts";
import { ofType, openEngine, testProfile } from "../testing/engine-fixture.ts";
import { exampleRequest } from "./example-request.test-support.ts";
import { createModelRegistry, type ModelsConfig } from "./model-registry.ts";
import { scriptedModel } from "./scripted/scripted-model.ts";

function registry(environment: Record<string, string> = {}, config: ModelsConfig = {}) {
  return createModelRegistry({ environment, config });
}

async function ask(model: Model, name: string): Promise<string> {
  return (await model(exampleRequest({ model: name }), () => {})).text;
}

test("the default model is named by the environment, then the file, then the first key", () => {
  const keys = { ANTHROPIC_API_KEY: "a", OPENAI_API_KEY: "b", OLLAMA_HOST: "c" };
  expect(registry({ ...keys, MANDATE_MODEL: "x/y" }, { default: "f/g" }).defaultModel).toBe("x/y");
  expect(registry(keys, { default: "f/g" }).defaultModel).toBe("f/g");
  expect(registry(keys).defaultModel).toMatch(/^anthropic\//);
  expect(registry({ OPENAI_API_KEY: "b", OLLAMA_HOST: "c" }).defaultModel).toMatch(/^openai\//);
  expect(registry({ OPENROUTER_API_KEY: "b" }).defaultModel).toBe("openrouter/openrouter/auto");
  expect(registry({ OLLAMA_HOST: "c", OLLAMA_MODEL: "m" }).defaultModel).toBe("ollama/m");
  expect(registry({ ANTHROPIC_API_KEY: "", MANDATE_MODEL: "" }).defaultModel).toBe(
    "scripted/default",
  );
});

test("without anything configured the answer says so, and what to set", async () => {
  const { resolve, defaultModel } = registry();
  const text = await ask(resolve(defaultModel), defaultModel);
  expect(text).toMatch(/^\[scripted model\] No language model is configured/);
  expect(text).toContain("ANTHROPIC_API_KEY");
});

test("a provider without its key is refused with the variable to set", () => {
  const { resolve } = registry();
  const refusal = {
    code: "model-not-configured",
    message: expect.stringContaining("OPENAI_API_KEY"),
  };
  expect(() => resolve("openai/gpt-5")).toThrow(expect.objectContaining(refusal));
});

test.each([
  ["a bare name", "gpt-5", /provider\/model/],
  ["no model", "openai/", /provider\/model/],
  ["no provider", "/gpt-5", /provider\/model/],
  ["a typing error", "anthropc/claude", /did you mean "anthropic"/],
  ["a key of every object", "constructor/x", /unknown provider "constructor"/],
])("%s is an unknown model", (_, name, message) => {
  const refusal = { code: "unknown-model", message: expect.stringMatching(message) };
  expect(() => registry().resolve(name)).toThrow(expect.objectContaining(refusal));
});

test("models of the user come first, by name and by provider", async () => {
  const exact = scriptedModel(() => "exact");
  const family = scriptedModel(({ model }) => `family ${model}`);
  const { resolve } = createModelRegistry({
    environment: { OPENAI_API_KEY: "k" },
    models: { "openai/gpt-5": exact, openai: family },
  });
  expect(await ask(resolve("openai/gpt-5"), "openai/gpt-5")).toBe("exact");
  expect(await ask(resolve("openai/a/b"), "openai/a/b")).toBe("family openai/a/b");
});

test("a playbook answers in place of every provider, and its runs are labelled scripted", async () => {
  const { resolve, defaultModel } = createModelRegistry({
    environment: { OPENAI_API_KEY: "k", MANDATE_MODEL: "openai/gpt-5" },
    scripted: scriptedModel(() => "from the playbook"),
  });
  expect(defaultModel).toBe("scripted/playbook");
  expect(await ask(resolve("openai/gpt-5"), "openai/gpt-5")).toBe("from the playbook");
  expect(await ask(resolve("unheard/of"), "unheard/of")).toBe("from the playbook");
});

test("the allowlist takes names and families, and is enforced where models are resolved", () => {
  const allow = ["openai/gpt-5", "anthropic/*"];
  const { isAllowed, resolve } = registry({ OPENAI_API_KEY: "k" }, { allow });
  expect(isAllowed("openai/gpt-5")).toBe(true);
  expect(isAllowed("openai/gpt-5-mini")).toBe(false);
  expect(isAllowed("anthropic/claude")).toBe(true);
  expect(isAllowed("scripted/default")).toBe(false);
  const refusal = { code: "refused-by-policy" };
  expect(() => resolve("openai/gpt-4")).toThrow(expect.objectContaining(refusal));
  expect(registry().isAllowed("any/thing")).toBe(true);
  expect(registry({}, { allow: [] }).isAllowed("any/thing")).toBe(false);
});

test("a model is made once", () => {
  const { resolve } = registry({ OPENAI_API_KEY: "k" });
  expect(resolve("openai/gpt-5")).toBe(resolve("openai/gpt-5"));
});

test("cost is counted by the configured prices, cached tokens by theirs", () => {
  const prices = {
    "a/b": { input: 3, output: 15, cachedInput: 0.3 },
    "a/c": { input: 2, output: 4 },
  };
  const { cost, price } = registry({}, { prices });
  expect(price("a/b")).toEqual(prices["a/b"]);
  expect(price("a/unknown")).toBeUndefined();
  expect(cost("a/b", { prompt: 1_000_000, completion: 100_000 })).toBeCloseTo(4.5);
  expect(cost("a/b", { prompt: 1_000_000, completion: 0, cached: 500_000 })).toBeCloseTo(1.65);
  expect(cost("a/c", { prompt: 1_000_000, completion: 0, cached: 500_000 })).toBeCloseTo(2);
  expect(cost("a/unknown", { prompt: 5, completion: 5 })).toBe(0);
  expect(cost("toString", { prompt: 5, completion: 5 })).toBe(0);
});

test("the default of every provider has a price and a known window", () => {
  const keys = ["ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GOOGLE_GENERATIVE_AI_API_KEY"];
  for (const key of keys) {
    const { defaultModel, price, contextWindow, maxOutput } = registry({ [key]: "k" });
    expect(price(defaultModel), defaultModel).toBeDefined();
    expect(contextWindow(defaultModel)).toBeGreaterThan(maxOutput(defaultModel) ?? 0);
  }
  const { contextWindow, maxOutput, pricesAsOf } = registry();
  expect(contextWindow("anthropic/claude-haiku-4-5-20251001")).toBe(200_000);
  expect(maxOutput("anthropic/claude-haiku-4-5")).toBe(64_000);
  expect(contextWindow("acme/x")).toBeUndefined();
  expect(maxOutput("constructor")).toBeUndefined();
  expect(pricesAsOf).toMatch(/^\d{4}-/);
});

test("nothing heavy is loaded before a model is asked", () => {
  const program = `
    import { registerHooks } from "node:module";
    const loaded = [];
    registerHooks({ resolve(name, context, next) { loaded.push(name); return next(name, context); } });
    const { createModelRegistry } = await import("./src/models/model-registry.ts");
    createModelRegistry({ environment: { OPENAI_API_KEY: "k" } }).resolve("openai/gpt-5");
    console.log(loaded.filter((name) => /^(@|zod|yaml|ai)/.test(name)).join());`;
  const output = execFileSync(process.execPath, ["--input-type=module", "--eval", program]);
  expect(output.toString().trim()).toBe("");
});

test("without anything configured, one that is told to go on fails instead of asking a person", async () => {
  await using mandate = await openEngine({
    profiles: [
      testProfile("dutiful", { tools: ["complete_task"], exit: { tools: ["complete_task"] } }),
    ],
    environment: {},
  });
  const { events, result } = await mandate.run({ task: "do it", profile: "dutiful" });
  expect(result).toMatchObject({ status: "failed", closeReason: "provider_unavailable" });
  expect(result.result).toContain("No language model is configured. Set ANTHROPIC_API_KEY");
  expect(ofType(events, "agent.asked")).toEqual([]);
});
