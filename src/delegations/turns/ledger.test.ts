import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { Account } from "./ledger.ts";

describe("an account", () => {
  it("gives out no more than the least of itself and its ancestors", () => {
    const run = new Account(null, 1000);
    const parent = new Account(run, 500);
    const child = new Account(parent, 5000);
    expect(child.available).toBe(500);
    expect(child.reserve(501)).toBe(false);
    expect([run.reserved, parent.reserved, child.reserved]).toEqual([0, 0, 0]);
    expect(child.reserve(400)).toBe(true);
    expect([run.available, parent.available, child.available]).toEqual([600, 100, 100]);
    child.settle(400, 30, 0.5);
    expect([run.available, parent.available, child.available]).toEqual([970, 470, 470]);
    expect(run.cost).toBe(0.5);
  });

  it("tells what would be there if nothing under way cost anything", () => {
    const run = new Account(null, 1000);
    const [one, two] = [new Account(run, 1000), new Account(run, 1000)];
    one.reserve(900);
    expect([two.available, two.unspent]).toEqual([100, 1000]);
    one.settle(900, 850, 0);
    expect([two.available, two.unspent]).toEqual([150, 150]);
  });

  it("knows how much may still be paid, by whoever has a limit", () => {
    const run = new Account(null, 1000, 2);
    const child = new Account(run, 1000);
    expect(child.costLeft).toBe(2);
    child.settle(0, 1, 1.5);
    expect(child.costLeft).toBe(0.5);
    expect(new Account(null, 1).costLeft).toBe(Number.POSITIVE_INFINITY);
  });

  it("lets fifty racing children spend a budget once, and wakes those who wait", async () => {
    const run = new Account(null, 10_000);
    let spent = 0;
    let most = 0;
    async function child(account: Account): Promise<void> {
      for (let request = 0; request < 20; request++) {
        const worstCase = 100 + Math.floor(Math.random() * 400);
        while (!account.reserve(worstCase)) {
          if (account.unspent < worstCase) return;
          await account.released();
        }
        most = Math.max(most, run.settled + run.reserved);
        await new Promise((resolve) => setImmediate(resolve));
        const used = Math.floor(Math.random() * (worstCase + 1));
        spent += used;
        account.settle(worstCase, used, 0);
      }
    }
    await Promise.all(Array.from({ length: 50 }, () => child(new Account(run, 10_000))));
    expect(most).toBeLessThanOrEqual(10_000);
    expect(run).toMatchObject({ settled: spent, reserved: 0 });
    expect(spent).toBeLessThanOrEqual(10_000);
  });

  it("stays within every cap, whatever is reserved and settled in whatever order", () => {
    const steps = fc.array(
      fc.record({
        who: fc.nat(5),
        tokens: fc.nat(400),
        used: fc.double({ min: 0, max: 1, noNaN: true }),
      }),
      { maxLength: 60 },
    );
    fc.assert(
      fc.property(fc.array(fc.nat(1000), { minLength: 6, maxLength: 6 }), steps, (caps, all) => {
        const accounts: Account[] = [];
        for (const [index, cap] of caps.entries()) {
          const parent = index === 0 ? null : (accounts[Math.floor((index - 1) / 2)] ?? null);
          accounts.push(new Account(parent, cap));
        }
        for (const { who, tokens, used } of all) {
          const account = accounts[who];
          const before = account?.available ?? 0;
          expect(account?.reserve(tokens)).toBe(tokens <= before);
          if (tokens <= before && used < 0.9) account?.settle(tokens, Math.floor(tokens * used), 0);
          for (const { cap, reserved, settled } of accounts) {
            expect(reserved + settled).toBeLessThanOrEqual(cap);
          }
        }
      }),
      { numRuns: 300 },
    );
  });
});
