import { expect, test } from "vitest";
import { findShippedModel, pricesAsOf, shippedPools } from "./shipped-models.ts";

test("the prices say of which day they are", () => {
  expect(pricesAsOf).toMatch(/^\d{4}-\d{2}-\d{2}$/);
  expect(new Date(pricesAsOf).toISOString()).toContain(pricesAsOf);
});

test("every model of a shipped pool has a price, except where another firm sells it", () => {
  const names = Object.values(shippedPools).flat();
  expect(Object.keys(shippedPools).sort()).toEqual(["fast", "haiku", "opus", "smart", "sonnet"]);
  for (const name of names.filter((each) => !each.startsWith("openrouter/"))) {
    const { price, contextWindow = 0, maxOutput = 0 } = findShippedModel(name) ?? {};
    expect([name, price?.input]).toEqual([name, expect.any(Number)]);
    expect(maxOutput).toBeGreaterThan(0);
    expect(contextWindow).toBeGreaterThan(maxOutput);
  }
});

test("what is cached costs less to read, and not less to write, than what is not", () => {
  for (const name of Object.values(shippedPools).flat()) {
    const price = findShippedModel(name)?.price;
    if (price === undefined) continue;
    for (const rates of [price, price.longPrompt ?? price]) {
      expect(rates.cachedInput ?? 0).toBeLessThan(rates.input);
      expect(rates.cacheWrite ?? rates.input).toBeGreaterThanOrEqual(rates.input);
      expect(rates.output).toBeGreaterThan(rates.input);
    }
  }
});
