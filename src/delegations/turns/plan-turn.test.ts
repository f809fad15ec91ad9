import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { planTurn, promptBound, roomForOutput, type TurnBounds } from "./plan-turn.ts";

const bounds: fc.Arbitrary<TurnBounds> = fc
  .record({
    prompt: fc.nat(20_000),
    maxOutput: fc.integer({ min: 1, max: 10_000 }),
    available: fc.integer({ min: -100, max: 60_000 }),
    underWay: fc.oneof(fc.constant(0), fc.nat(30_000)),
    keepBack: fc.nat(1000),
  })
  .map(({ underWay, ...rest }) => ({ ...rest, unspent: rest.available + underWay }));

describe("planTurn", () => {
  it("never reserves more than is there, and always room for the prompt and some answer", () => {
    fc.assert(
      fc.property(bounds, (given) => {
        const plan = planTurn(given);
        if (plan.kind !== "turn" && plan.kind !== "last") return;
        expect(plan.reserve).toBeLessThanOrEqual(given.available);
        expect(plan.reserve).toBe(given.prompt + plan.maxOutput);
        expect(plan.maxOutput).toBeGreaterThan(0);
        expect(plan.maxOutput).toBeLessThanOrEqual(given.maxOutput);
      }),
      { numRuns: 5000 },
    );
  });

  it("plans an ordinary turn only if a last one still fits after the worst of it", () => {
    fc.assert(
      fc.property(bounds, (given) => {
        const plan = planTurn(given);
        if (plan.kind !== "turn") return;
        const left = given.available - plan.reserve;
        expect(left).toBeGreaterThanOrEqual(given.prompt + given.keepBack);
      }),
      { numRuns: 5000 },
    );
  });

  it("withdraws tools only when an ordinary turn would not fit, now or later", () => {
    fc.assert(
      fc.property(bounds, (given) => {
        if (planTurn(given).kind !== "last") return;
        const richer = { ...given, available: given.unspent };
        expect(planTurn(richer).kind).toBe("last");
      }),
      { numRuns: 5000 },
    );
  });

  it("waits only when others hold what would help, and gives up only when nobody does", () => {
    fc.assert(
      fc.property(bounds, (given) => {
        const { kind } = planTurn(given);
        const alone = planTurn({ ...given, unspent: given.available });
        expect(alone.kind).not.toBe("wait");
        if (given.unspent === given.available) expect(kind).not.toBe("wait");
        if (kind === "wait") {
          const later = planTurn({ ...given, available: given.unspent });
          expect(later.kind).not.toBe(alone.kind);
          expect(["turn", "last"]).toContain(later.kind);
        }
        if (kind === "exhausted") {
          expect(planTurn({ ...given, available: given.unspent }).kind).toBe("exhausted");
        }
      }),
      { numRuns: 5000 },
    );
  });

  it("goes from turns to a last one to none as the budget shrinks, and never back", () => {
    const order = ["turn", "last", "exhausted"];
    fc.assert(
      fc.property(bounds, ({ prompt, maxOutput, keepBack }) => {
        let stage = 0;
        for (let left = 60_000; left > -500; left -= 487) {
          const plan = planTurn({ prompt, maxOutput, keepBack, available: left, unspent: left });
          const next = order.indexOf(plan.kind);
          expect(next).toBeGreaterThanOrEqual(stage);
          stage = next;
        }
        expect(stage).toBe(2);
      }),
      { numRuns: 200 },
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
      { numRuns: 5000 },
    );
  });

  it("shows a few lines however little is left", () => {
    expect(roomForOutput({ prompt: 10_000, available: 500, keepBack: 25 })).toBe(2000);
  });
});
