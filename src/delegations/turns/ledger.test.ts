import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { cases } from "../../testing/cases.test-support.ts";
import { Account, type Amount } from "./ledger.ts";

const tokens = (count: number): Amount => ({ tokens: count, cost: 0 });

describe("an account", () => {
  it("gives out no more than the least of itself and its ancestors", () => {
    const run = new Account(null, 1000);
    const parent = new Account(run, 500);
    const child = new Account(parent, 5000);
    expect(child.available.tokens).toBe(500);
    expect(child.reserve(tokens(501))).toBe(false);
    expect([run.reserved, parent.reserved, child.reserved]).toEqual([0, 0, 0]);
    expect(child.reserve(tokens(400))).toBe(true);
    const free = () => [run, parent, child].map(({ available }) => available.tokens);
    expect(free()).toEqual([600, 100, 100]);
    child.settle(tokens(400), { tokens: 30, cost: 5 });
    expect(free()).toEqual([970, 470, 470]);
    expect(run.cost).toBe(5);
  });

  it("tells what would be there if nothing under way cost anything", () => {
    const run = new Account(null, 1000);
    const [one, two] = [new Account(run, 1000), new Account(run, 1000)];
    one.reserve(tokens(900));
    expect([two.available.tokens, two.unspent.tokens]).toEqual([100, 1000]);
    one.settle(tokens(900), tokens(850));
    expect([two.available.tokens, two.unspent.tokens]).toEqual([150, 150]);
  });

  it("holds dollars back as it does tokens, from whoever has a limit", () => {
    const run = new Account(null, 1000, 2);
    const child = new Account(run, 1000);
    const cost = 1_600_000_000;
    expect(child.available.cost).toBe(2_000_000_000);
    expect(child.reserve({ tokens: 1, cost })).toBe(true);
    expect(new Account(run, 1000).reserve({ tokens: 1, cost: 400_000_001 })).toBe(false);
    expect([child.available.cost, child.unspent.cost]).toEqual([400_000_000, 2_000_000_000]);
    child.settle({ tokens: 1, cost }, { tokens: 1, cost: 1_500_000_000 });
    expect(child.available.cost).toBe(500_000_000);
    expect(new Account(null, 1).available.cost).toBe(Number.POSITIVE_INFINITY);
  });

  it("lets fifty racing children spend a budget once, and wakes those who wait", async () => {
    const run = new Account(null, 10_000);
    let spent = 0;
    let most = 0;
    async function child(account: Account): Promise<void> {
      for (let request = 0; request < 20; request++) {
        const worstCase = 100 + Math.floor(Math.random() * 400);
        while (!account.reserve(tokens(worstCase))) {
          if (account.unspent.tokens < worstCase) return;
          await account.released();
        }
        most = Math.max(most, run.settled + run.reserved);
        await new Promise((resolve) => setImmediate(resolve));
        const used = Math.floor(Math.random() * (worstCase + 1));
        spent += used;
        account.settle(tokens(worstCase), tokens(used));
      }
    }
    await Promise.all(Array.from({ length: 50 }, () => child(new Account(run, 10_000))));
    expect(most).toBeLessThanOrEqual(10_000);
    expect(run).toMatchObject({ settled: spent, reserved: 0 });
    expect(spent).toBeLessThanOrEqual(10_000);
  });

  it("stays within every cap, whatever is reserved and settled in whatever order", () => {
    const amount = fc.record({
      tokens: fc.nat(400),
      cost: fc.nat(4_000_000_000),
    });
    const steps = fc.array(
      fc.record({ who: fc.nat(5), amount, used: fc.double({ min: 0, max: 1, noNaN: true }) }),
      { maxLength: 60 },
    );
    fc.assert(
      fc.property(fc.array(fc.nat(1000), { minLength: 6, maxLength: 6 }), steps, (caps, all) => {
        const accounts: Account[] = [];
        for (const [index, cap] of caps.entries()) {
          const parent = index === 0 ? null : (accounts[Math.floor((index - 1) / 2)] ?? null);
          accounts.push(new Account(parent, cap, cap % 3 === 0 ? null : cap / 100));
        }
        for (const { amount: wanted, used, who } of all) {
          const account = accounts[who] as Account;
          const { available } = account;
          const fits = wanted.tokens <= available.tokens && wanted.cost <= available.cost;
          const isReserved = account.reserve(wanted);
          expect(isReserved).toBe(fits);
          if (isReserved && used < 0.9) {
            const spent = {
              tokens: Math.floor(wanted.tokens * used),
              cost: Math.ceil(wanted.cost * used),
            };
            account.settle(wanted, spent);
          }
          for (const { cap, cost, costCap, reserved, reservedCost, settled } of accounts) {
            expect(reserved + settled).toBeLessThanOrEqual(cap);
            expect(cost + reservedCost).toBeLessThanOrEqual(costCap);
          }
        }
      }),
      { numRuns: cases(300) },
    );
  });
});
