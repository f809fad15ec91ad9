import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { costOf } from "../../contracts/token-price.ts";
import { findShippedModel } from "../../control/shipped-models.ts";
import { billionths, wholeBillionths } from "../../ports/dollars.ts";
import { cases } from "../../testing/cases.test-support.ts";
import { type Amount, planTurn, promptBound, roomForOutput, type TurnBounds } from "../budget.ts";

const rate = fc.oneof(fc.constant(0), fc.double({ min: 0.01, max: 200, noNaN: true }));
const rates = { input: rate, output: rate, cacheWrite: rate, cachedInput: rate };
const price = fc.oneof(
  fc.constant(undefined),
  fc.record(rates),
  fc.record({ ...rates, longPrompt: fc.record({ over: fc.nat(20_000), ...rates }) }),
);
/** In billionths. */
const dollars = fc.oneof(
  fc.constant(Number.POSITIVE_INFINITY),
  fc.integer({ min: -100_000_000, max: 5_000_000_000 }),
);

const bounds: fc.Arbitrary<TurnBounds> = fc
  .record({
    prompt: fc.nat(20_000),
    maxOutput: fc.integer({ min: 1, max: 10_000 }),
    available: fc.record({ tokens: fc.integer({ min: -100, max: 60_000 }), cost: dollars }),
    underWay: fc.oneof(
      fc.constant({ tokens: 0, cost: 0 }),
      fc.record({ tokens: fc.nat(30_000), cost: fc.nat(2_000_000_000) }),
    ),
    keepBack: fc.nat(1000),
    price,
  })
  .map(({ underWay, ...rest }) => ({ ...rest, unspent: sum(rest.available, underWay) }));

function sum(one: Amount, other: Amount): Amount {
  return { tokens: one.tokens + other.tokens, cost: one.cost + other.cost };
}

function isWithin({ cost, tokens }: Amount, left: Amount): boolean {
  return tokens <= left.tokens && cost <= left.cost;
}

/** What a provider bills at most, in billionths: by the prompt that it turns out to have. */
function bill({ price: known }: TurnBounds, prompt: number, completion: number): number {
  if (known === undefined) return 0;
  const ways = [{}, { cached: prompt }, { cacheWrite: prompt }];
  const bills = ways.map((way) => costOf(known, { prompt, completion, ...way }));
  return billionths(Math.max(...bills));
}

describe("planTurn", () => {
  it("never reserves more than is there, and always room for the prompt and some answer", () => {
    fc.assert(
      fc.property(bounds, (given) => {
        const plan = planTurn(given);
        if (plan.kind !== "turn" && plan.kind !== "last") return;
        expect(isWithin(plan.reserve, given.available)).toBe(true);
        expect(plan.reserve.tokens).toBe(given.prompt + plan.maxOutput);
        for (const prompt of [given.prompt, Math.floor(given.prompt / 2), 0]) {
          const billed = bill(given, prompt, plan.maxOutput);
          expect(billed).toBeLessThanOrEqual(plan.reserve.cost);
        }
        expect(plan.maxOutput).toBeGreaterThan(0);
        expect(plan.maxOutput).toBeLessThanOrEqual(given.maxOutput);
      }),
      { numRuns: cases(5000) },
    );
  });

  it("plans an ordinary turn only if a last one still fits after the worst of it", () => {
    fc.assert(
      fc.property(bounds, (given) => {
        const plan = planTurn(given);
        if (plan.kind !== "turn") return;
        const { available, keepBack, prompt } = given;
        const kept = { tokens: prompt + keepBack, cost: bill(given, prompt, keepBack) };
        // Two amounts, each a billionth at most above what it is.
        const room = sum(available, { tokens: 0, cost: 2 });
        expect(isWithin(sum(kept, plan.reserve), room)).toBe(true);
      }),
      { numRuns: cases(5000) },
    );
  });

  it("withdraws tools only when an ordinary turn would not fit, now or later", () => {
    fc.assert(
      fc.property(bounds, (given) => {
        if (planTurn(given).kind !== "last") return;
        const richer = { ...given, available: given.unspent };
        expect(planTurn(richer).kind).toBe("last");
      }),
      { numRuns: cases(5000) },
    );
  });

  it("waits only when others hold what would help, and gives up only when nobody does", () => {
    fc.assert(
      fc.property(bounds, (given) => {
        const { kind } = planTurn(given);
        const alone = planTurn({ ...given, unspent: given.available });
        expect(alone.kind).not.toBe("wait");
        if (
          given.unspent.tokens === given.available.tokens &&
          given.unspent.cost === given.available.cost
        )
          expect(kind).not.toBe("wait");
        if (kind === "wait") {
          const later = planTurn({ ...given, available: given.unspent });
          expect(later.kind).not.toBe(alone.kind);
          expect(["turn", "last"]).toContain(later.kind);
        }
        if (kind === "exhausted") {
          expect(planTurn({ ...given, available: given.unspent }).kind).toBe("exhausted");
        }
      }),
      { numRuns: cases(5000) },
    );
  });

  it("goes from turns to a last one to none as the budget shrinks, and never back", () => {
    const order = ["turn", "last", "exhausted"];
    fc.assert(
      fc.property(bounds, (given) => {
        let stage = 0;
        for (let left = 60_000; left > -500; left -= 487) {
          const amount = { tokens: left, cost: left * 1e5 };
          const plan = planTurn({ ...given, available: amount, unspent: amount });
          const next = order.indexOf(plan.kind);
          expect(next).toBeGreaterThanOrEqual(stage);
          stage = next;
        }
        expect(stage).toBe(2);
      }),
      { numRuns: cases(200) },
    );
  });
});

const shippedPrices = [
  ...["anthropic/claude-sonnet-4-5", "openai/gpt-4.1-nano", "openai/gpt-5-nano", "openai/gpt-5"],
  ...["google/gemini-2.5-flash-lite", "google/gemini-2.5-pro"],
].flatMap((name) => findShippedModel(name)?.price ?? []);

describe("a planned reservation", () => {
  it("fits the account that it was planned from, to the last billionth, at every shipped price", () => {
    expect(shippedPrices).toHaveLength(6);
    const price = fc.constantFrom(...shippedPrices);
    const steps = fc.array(fc.nat(3000), { maxLength: 6 });
    fc.assert(
      fc.property(price, fc.nat(9000), fc.nat(20_000_000), steps, (known, prompt, cap, spent) => {
        const used = spent.map((count) => costOf(known, { prompt: count, completion: count }));
        const left = used.reduce((sum, one) => sum - billionths(one), wholeBillionths(cap / 1e9));
        const available = { tokens: 1e9 - spent.length, cost: left };
        const unspent = available;
        const bounds = {
          prompt,
          maxOutput: 8192,
          available,
          unspent,
          keepBack: 1000,
          price: known,
        };
        const plan = planTurn(bounds);
        if ("reserve" in plan) expect(plan.reserve.cost).toBeLessThanOrEqual(left);
      }),
      { numRuns: cases(5000) },
    );
  });
});

describe("promptBound", () => {
  const parts = { counted: null, bytesSince: 100, systemBytes: 1000, toolTokens: 500 };

  it("takes every byte for a token until a provider has counted", () => {
    expect(promptBound(parts)).toBeGreaterThanOrEqual(1600);
  });

  it("then takes the count and the bytes since", () => {
    const bound = promptBound({ ...parts, counted: 300 });
    expect(bound).toBeGreaterThanOrEqual(400);
    expect(bound).toBeLessThan(500);
  });
});

describe("roomForOutput", () => {
  it("leaves an ordinary turn after any output that fills it, unless there was hardly any room", () => {
    fc.assert(
      fc.property(bounds, (given) => {
        const room = roomForOutput(given);
        if (room <= 2000) return;
        const prompt = promptBound({
          counted: given.prompt,
          bytesSince: room,
          systemBytes: 0,
          toolTokens: 0,
        });
        expect(planTurn({ ...given, prompt, unspent: given.available }).kind).toBe("turn");
      }),
      { numRuns: cases(5000) },
    );
  });

  it("shows a few lines however little is left", () => {
    const available = { tokens: 500, cost: Number.POSITIVE_INFINITY };
    const left = { prompt: 10_000, available, keepBack: 25, price: undefined };
    expect(roomForOutput(left)).toBe(2000);
  });
});
