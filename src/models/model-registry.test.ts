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
  expect(registry({ ANTHROPIC_API_KEY: "", MANDATE_MODEL: "" }).defaultModel).toBeNull();
});

test("without anything configured there is no model, and the error says what to set", () => {
  const { candidates, defaultModel } = registry();
  expect(defaultModel).toBeNull();
  const message = expect.stringMatching(/No language model.*ANTHROPIC_API_KEY.*MANDATE_MODEL/);
  const refusal = expect.objectContaining({ code: "model-not-configured", message });
  expect(() => candidates({})).toThrow(refusal);
});

test("a key that Google's own programs read is a key for google", () => {
  for (const name of ["GEMINI_API_KEY", "GOOGLE_API_KEY"]) {
    const { defaultModel, resolve } = registry({ [name]: "k" });
    expect(defaultModel).toMatch(/^google\//);
    expect(resolve(defaultModel ?? "")).toBeDefined();
  }
});

test("a program's own model is the default when nothing else names one", () => {
  const models = { "acme/small": scriptedModel(() => "own") };
  expect(createModelRegistry({ environment: {}, models }).defaultModel).toBe("acme/small");
  const environment = { OPENAI_API_KEY: "k" };
  expect(createModelRegistry({ environment, models }).defaultModel).toMatch(/^openai\//);
});

test("the scripted model answers without a playbook only when it is named", async () => {
  const named = registry({ MANDATE_MODEL: "scripted/default" });
  expect(named.candidates({})).toEqual(["scripted/default"]);
  const text = await ask(named.resolve("scripted/default"), "scripted/default");
  expect(text).toMatch(/^\[scripted model\] No playbook is given, so nothing was done/);
  expect(registry().candidates({ model: "scripted/echo" })).toEqual(["scripted/echo"]);
  // What a stored contract holds was chosen by no person.
  for (const name of ["scripted/playbook", "scripted/default"]) {
    const refusal = {
      code: "model-not-configured",
      message: expect.stringContaining("--playbook"),
    };
    expect(() => registry().resolve(name)).toThrow(expect.objectContaining(refusal));
  }
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
    const { defaultModel: found, price, contextWindow, maxOutput } = registry({ [key]: "k" });
    const defaultModel = found ?? "";
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

test("the scripted model without a playbook fails where more is needed, and asks no person", async () => {
  await using mandate = await openEngine({
    profiles: [
      testProfile("dutiful", { tools: ["complete_task"], exit: { tools: ["complete_task"] } }),
    ],
    environment: { MANDATE_MODEL: "scripted/echo" },
  });
  const { events, result } = await mandate.run({ task: "do it", profile: "dutiful" });
  expect(result).toMatchObject({ status: "failed", closeReason: "provider_unavailable" });
  expect(result.result).toContain("The scripted model has no playbook");
  expect(ofType(events, "agent.asked")).toEqual([]);
});
