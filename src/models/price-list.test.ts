import fc from "fast-check";
import { expect, test } from "vitest";
import type { PriceConfig } from "../control/config.ts";
import { dearerPrice } from "../control/narrow-found-file.ts";
import { PriceList } from "./model-registry.ts";

const million = { prompt: 1_000_000, completion: 1_000_000 };

function list(prices: Record<string, PriceConfig> = {}) {
  return new PriceList(prices);
}

test("prices are shipped, and a dated snapshot has that of its plain name", () => {
  expect(list().cost("anthropic/claude-opus-5", million)).toBeCloseTo(30);
  expect(list().cost("anthropic/claude-haiku-4-5-20251001", million)).toBeCloseTo(6);
  expect(list().cost("openai/gpt-5-2025-08-07", million)).toBeCloseTo(11.25);
  expect(list().cost("openai-chat/gpt-5", million)).toBeCloseTo(11.25);
  expect(list().cost("anthropic/claude-sonnet-4-20250514", million)).toBeCloseTo(18);
});

test("the configuration's price replaces the shipped one, for snapshots too", () => {
  const own = list({ "openai/gpt-5": { input: 1, output: 1 } });
  expect(own.cost("openai/gpt-5", million)).toBeCloseTo(2);
  expect(own.cost("openai/gpt-5-2025-08-07", million)).toBeCloseTo(2);
  expect(own.cost("openai/gpt-5-mini", million)).toBeCloseTo(2.25);
});

test("a model without a price costs nothing, and says that it has none", () => {
  for (const name of ["openai/gpt-99", "openrouter/openrouter/auto", "acme/x", "toString"]) {
    expect(list().find(name)).toBeUndefined();
    expect(list().cost(name, million)).toBe(0);
  }
});

test("the models of Mandate itself are free, and a local server has the price that it is given", () => {
  for (const name of ["scripted/playbook", "mandate/plan"]) {
    expect(list().find(name)).toEqual({ input: 0, output: 0 });
  }
  for (const name of ["ollama/qwen3", "lmstudio/x", "llamacpp/x", "vllm/x", "mandate/other"]) {
    expect(list().find(name)).toBeUndefined();
  }
  const free = { input: 0, output: 0 };
  expect(list({ "ollama/qwen3": free }).find("ollama/qwen3")).toEqual(free);
});

test("a long prompt is charged at its own rates, all of it", () => {
  const { cost } = { cost: (prompt: number) => list().cost("openai/gpt-6-sol", usage(prompt)) };
  const usage = (prompt: number) => ({ prompt, completion: 1_000_000 });
  expect(cost(272_000)).toBeCloseTo(0.544 + 10);
  expect(cost(272_001)).toBeCloseTo(1.088 + 15, 4);
});

test("counts that contradict each other give no money back", () => {
  const price = { "a/b": { input: 10, output: 0, cachedInput: 1, cacheWrite: 12 } };
  const usage = { prompt: 100, completion: 0, cached: 500, cacheWrite: 500 };
  expect(list(price).cost("a/b", usage)).toBeGreaterThan(0);
});

test("under the dearer of two prices nothing costs less than under either", () => {
  const amount = fc.double({ min: 0, max: 100, noNaN: true });
  const rates = { input: amount, output: amount, cachedInput: amount, cacheWrite: amount };
  const long = fc.record(
    { over: fc.nat(1000), ...rates },
    { requiredKeys: ["over", "input", "output"] },
  );
  const price = fc.record({ ...rates, longPrompt: long }, { requiredKeys: ["input", "output"] });
  const tokens = fc.nat(1000);
  const usage = fc
    .record({ fresh: tokens, completion: tokens, cached: tokens, cacheWrite: tokens })
    .map(({ fresh, ...rest }) => ({ ...rest, prompt: fresh + rest.cached + rest.cacheWrite }));
  const check = (left: PriceConfig, right: PriceConfig, used: typeof million): void => {
    const cost = (each: PriceConfig) => list({ "a/b": each }).cost("a/b", used);
    const dearer = cost(dearerPrice(left, right));
    expect(dearer + 1e-12).toBeGreaterThanOrEqual(Math.max(cost(left), cost(right)));
  };
  fc.assert(fc.property(price, price, usage, check));
});
