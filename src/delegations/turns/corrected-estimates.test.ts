import { describe, expect, it } from "vitest";
import type { Model } from "../../ports/model.ts";
import { ofType, openEngine, testProfile } from "../../testing/engine-fixture.ts";
import { HeldClock } from "../../testing/held-clock.test-support.ts";

const prices = { "late/model": { input: 1, output: 1 } };
const config = { models: { providers: {}, pools: {}, prices } };
const profiles = [testProfile("a", { tools: [], model: { model: "late/model" } })];
const reply = { text: "late", calls: [], finish: "stop", served: null } as const;

/** Ignores that its first request was ended for its silence, and answers when the second has begun. */
async function run(late: { prompt: number; completion: number }) {
  const clock = new HeldClock();
  const second = Promise.withResolvers<void>();
  const answered = Promise.withResolvers<void>();
  const model: Model = async ({ caller }) => {
    if (caller.try === 1) {
      clock.pass(70);
      await second.promise;
      setImmediate(answered.resolve);
      return { ...reply, usage: late };
    }
    second.resolve();
    await answered.promise;
    return { ...reply, text: "done", usage: { prompt: 20, completion: 2 } };
  };
  await using mandate = await openEngine({
    clock,
    profiles,
    models: { late: model },
    config: {
      ...config,
      deadlines: { firstTokenMs: 60, stallMs: 5000, toolMs: 5000, idleMs: 60_000 },
    },
    limits: { maxOutputTokens: 400, backoffMs: 1, maxRetries: 0 },
  });
  const { events, result } = await mandate.run({ task: "go", profile: "a" });
  return { events, result, corrected: ofType(events, "agent.budget_corrected") };
}

describe("what a provider reports of a request that was cut", () => {
  it("corrects the estimate while the delegation is open", async () => {
    const { corrected, events, result } = await run({ prompt: 30, completion: 3 });
    const [estimate] = ofType(events, "agent.budget_settled");
    const { completion, cost, prompt } = estimate?.payload ?? {};
    expect(estimate?.payload.estimated).toBe(true);
    expect(corrected.map(({ payload }) => payload)).toEqual([
      {
        request: 1,
        prompt: 30,
        completion: 3,
        cost: 0.000033,
        replaces: { prompt, completion, cost },
      },
    ]);
    expect(result).toMatchObject({ status: "completed", result: "done" });
    expect(result.tokenUsage).toEqual({
      prompt: 50,
      completion: 5,
      cost: expect.closeTo(0.000055, 12),
    });
  });

  it("is an overrun when it is more than the request allowed", async () => {
    const { corrected, result } = await run({ prompt: 30_000, completion: 3 });
    expect(corrected[0]?.payload).toMatchObject({ prompt: 30_000, overrun: true });
    expect(result).toMatchObject({
      result: "done",
      closeReason: "budget_exhausted",
      truncated: true,
    });
    expect(result.tokenUsage.prompt).toBe(30_020);
  });

  it("is left alone when it is no count", async () => {
    const { corrected, result } = await run({ prompt: -30, completion: 3 });
    expect(corrected).toEqual([]);
    expect(result.tokenUsage.estimated).toBe(true);
  });
});
