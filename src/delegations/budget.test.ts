import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Delegation } from "../events/delegation.ts";
import type { EventPayloads, EventType } from "../events/event.ts";
import { apply, create, type TimedEvent } from "../events/lifecycle.ts";
import { inDollars } from "../ports/dollars.ts";
import { cases } from "../testing/cases.test-support.ts";
import { type Amount, Budget } from "./budget.ts";

const tokens = (count: number): Amount => ({ tokens: count, cost: 0 });

/** A delegation whose budget follows its events, as in a live run. */
class Spender {
  readonly budget: Budget;
  #state: Delegation;
  #requests = 0;

  constructor(above: Budget | null, cap: number, dollars: number | null = null) {
    this.budget = new Budget(above, cap, dollars);
    const created = event("agent.subagent_created", {
      ...{ parent_id: null, call_id: null, step_idx: 0, depth: 0 },
      ...{ profile: "p", title: "t", contract_hash: "h" },
    });
    this.#state = create(created as TimedEvent<"agent.subagent_created">);
    this.#follow(event("agent.subagent_started", { strategy: "none" }));
  }

  reserve({ cost, tokens: count }: Amount): boolean {
    if (!this.budget.fits({ cost, tokens: count })) return false;
    const request = ++this.#requests;
    const held = { request, tokens: count, cost: inDollars(cost) };
    this.#follow(event("agent.budget_reserved", held));
    return true;
  }

  settle({ cost, tokens: count }: Amount): void {
    const used = { prompt: count, completion: 0, cost: inDollars(cost) };
    const request = this.#requests;
    this.#follow(event("agent.budget_settled", { request, reserved: 0, ...used }));
  }

  #follow(next: TimedEvent): void {
    this.#state = apply(this.#state, next);
    this.budget.follow(this.#state);
  }
}

function event<Type extends EventType>(type: Type, payload: EventPayloads[Type]): TimedEvent {
  return { type, payload, sub_agent_id: "d", at: 0 } as TimedEvent;
}

describe("a budget", () => {
  it("gives out no more than the least of itself and those above it", () => {
    const run = new Budget(null, 1000);
    const parent = new Budget(run, 500);
    const child = new Spender(parent, 5000);
    expect(child.budget.available.tokens).toBe(500);
    expect(child.reserve(tokens(501))).toBe(false);
    expect([run, parent].map(({ available }) => available.tokens)).toEqual([1000, 500]);
    expect(child.reserve(tokens(400))).toBe(true);
    const free = () => [run, parent, child.budget].map(({ available }) => available.tokens);
    expect(free()).toEqual([600, 100, 100]);
    child.settle({ tokens: 30, cost: 5 });
    expect(free()).toEqual([970, 470, 470]);
  });

  it("tells what would be there if nothing under way cost anything", () => {
    const run = new Budget(null, 1000);
    const [one, two] = [new Spender(run, 1000), new Spender(run, 1000)];
    one.reserve(tokens(900));
    expect([two.budget.available.tokens, two.budget.unspent.tokens]).toEqual([100, 1000]);
    one.settle(tokens(850));
    expect([two.budget.available.tokens, two.budget.unspent.tokens]).toEqual([150, 150]);
  });

  it("holds dollars back as it does tokens, from every budget with a limit", () => {
    const run = new Budget(null, 1000, 2);
    const child = new Spender(run, 1000);
    const cost = 1_600_000_000;
    expect(child.budget.available.cost).toBe(2_000_000_000);
    expect(child.reserve({ tokens: 1, cost })).toBe(true);
    expect(new Spender(run, 1000).reserve({ tokens: 1, cost: 400_000_001 })).toBe(false);
    const { available, unspent } = child.budget;
    expect([available.cost, unspent.cost]).toEqual([400_000_000, 2_000_000_000]);
    child.settle({ tokens: 1, cost: 1_500_000_000 });
    expect(child.budget.available.cost).toBe(500_000_000);
    expect(new Budget(null, 1).available.cost).toBe(Number.POSITIVE_INFINITY);
  });

  it("stays within every cap, whatever is reserved and settled in whatever order", () => {
    const amount = fc.record({ tokens: fc.nat(400), cost: fc.nat(4_000_000_000) });
    const steps = fc.array(
      fc.record({ who: fc.nat(5), amount, used: fc.double({ min: 0, max: 1, noNaN: true }) }),
      { maxLength: 60 },
    );
    fc.assert(
      fc.property(fc.array(fc.nat(1000), { minLength: 6, maxLength: 6 }), steps, (caps, all) => {
        const spenders: Spender[] = [];
        for (const [index, cap] of caps.entries()) {
          const parent = index === 0 ? undefined : spenders[Math.floor((index - 1) / 2)];
          const dollars = cap % 3 === 0 ? null : cap / 100;
          spenders.push(new Spender(parent?.budget ?? null, cap, dollars));
        }
        const busy = new Set<Spender>();
        for (const { amount: wanted, used, who } of all) {
          const spender = spenders[who];
          if (spender === undefined || busy.has(spender)) continue;
          const { available } = spender.budget;
          const fits = wanted.tokens <= available.tokens && wanted.cost <= available.cost;
          const isReserved = spender.reserve(wanted);
          expect(isReserved).toBe(fits);
          if (isReserved && used >= 0.9) busy.add(spender);
          if (isReserved && used < 0.9) {
            spender.settle({
              tokens: Math.floor(wanted.tokens * used),
              cost: Math.ceil(wanted.cost * used),
            });
          }
          for (const { budget } of spenders) {
            expect(budget.available.tokens).toBeGreaterThanOrEqual(0);
            expect(budget.available.cost).toBeGreaterThanOrEqual(0);
          }
        }
      }),
      { numRuns: cases(300) },
    );
  });
});
