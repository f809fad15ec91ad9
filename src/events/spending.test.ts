import fc from "fast-check";
import { expect, test } from "vitest";
import { cases } from "../testing/cases.test-support.ts";
import type { Delegation } from "./delegation.ts";
import { emptyRun } from "./run-state.ts";
import { followSpending, spendingAbove, undoSpending } from "./spending.ts";

const parents: Readonly<Record<string, string | null>> = {
  root: null,
  a: "root",
  b: "root",
  c: "a",
};

function delegationOf(id: string, cost: number): Delegation {
  const usage = { prompt: 0, completion: 0, cost };
  return { id, parentId: parents[id] ?? null, usage, status: "closed" } as Delegation;
}

test("whoever reads a log comes to the same sums as whoever wrote it, to the last digit", () => {
  const price = fc.constantFrom(0.1, 0.4, 0.0375, 3, 18.75);
  const step = fc.record({
    id: fc.constantFrom("root", "a", "b", "c"),
    tokens: fc.nat(9999),
    price,
  });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
      const writer = emptyRun("r1");
      for (const id of Object.keys(parents)) writer.delegations.set(id, delegationOf(id, 0));
      // From here on it adds up what comes, one after the other.
      const sums = (run: typeof writer) => [...spendingAbove(run, "c")].map(({ cost }) => cost);
      sums(writer);
      const undone: (() => void)[] = [];
      for (const { id, price: rate, tokens } of steps) {
        const before = writer.delegations.get(id);
        const after = delegationOf(id, (before?.usage.cost ?? 0) + (tokens * rate) / 1e6);
        writer.delegations.set(id, after);
        followSpending(writer, before, after);
        undone.unshift(() => {
          undoSpending(writer, after, before);
          if (before) writer.delegations.set(id, before);
        });
      }
      const reader = emptyRun("r1");
      for (const [id, one] of writer.delegations) reader.delegations.set(id, one);
      expect(sums(writer)).toEqual(sums(reader));
      expect(sums(writer).every(Number.isInteger)).toBe(true);
      for (const undo of undone) undo();
      expect(sums(writer)).toEqual([0, 0, 0, 0]);
    }),
    { numRuns: cases(500) },
  );
});
