import fc from "fast-check";
import { expect, it, test } from "vitest";
import { cases } from "../../testing/cases.test-support.ts";
import { ownershipOverlaps } from "../../workspaces/git/integration/match-ownership.ts";
import { inWaves, mergeSequence } from "./plan-order.ts";
import { PlanProgress, type ScheduledStep } from "./plan-progress.ts";

function step(id: string, fields: Partial<ScheduledStep> = {}): ScheduledStep {
  return { id, dependsOn: [], owns: [], retries: 0, onFailure: "fail", writes: false, ...fields };
}

it("is the order of the plan where that follows its dependencies", () => {
  const steps = [
    step("a"),
    step("c", { dependsOn: [0] }),
    step("d"),
    step("e", { dependsOn: [2] }),
  ];
  expect(mergeSequence(steps, { canWrite: true })).toEqual([0, 1, 2, 3]);
});

it("puts a step after those that it depends on, and changes nothing else", () => {
  const steps = [step("end", { dependsOn: [2] }), step("a"), step("b"), step("c")];
  expect(mergeSequence(steps, { canWrite: true })).toEqual([1, 2, 0, 3]);
});

it("puts a step that could run first before a rival that has to wait for another one", () => {
  const steps = [
    step("look"),
    step("note", { dependsOn: [0], writes: true }),
    step("again", { writes: true }),
  ];
  expect(mergeSequence(steps, { canWrite: true })).toEqual([0, 2, 1]);
  expect(mergeSequence(steps, { canWrite: false })).toEqual([0, 1, 2]);
});

const patterns = ["src/**", "src/a", "docs", "*.md", "tests/**"];

const anyPlan = fc.array(
  fc.record({
    dependsOn: fc.uniqueArray(fc.nat(11), { maxLength: 3 }),
    owns: fc.uniqueArray(fc.constantFrom(...patterns), { maxLength: 2 }),
    retries: fc.nat(2),
    onFailure: fc.constantFrom("fail" as const, "continue" as const),
    writes: fc.boolean(),
  }),
  { minLength: 1, maxLength: 12 },
);

/** Steps may depend on later ones as well: `ranks` is an order without circles. */
const anySteps = fc
  .tuple(anyPlan, fc.infiniteStream(fc.nat(1000)))
  .map(([drawn, dice]): ScheduledStep[] => {
    const ranks = drawn.map(() => dice.next().value);
    const isBefore = (one: number, other: number): boolean => {
      const difference = (ranks[one] ?? 0) - (ranks[other] ?? 0);
      return difference < 0 || (difference === 0 && one < other);
    };
    return drawn.map((fields, place) => {
      const dependsOn = fields.dependsOn.filter(
        (each) => each < drawn.length && isBefore(each, place),
      );
      return step(`s${place}`, { ...fields, dependsOn });
    });
  });

test("whatever the plan, its waves run it whole, and its merges follow dependencies and rivals", () => {
  fc.assert(
    fc.property(anySteps, (steps) => {
      const waves = inWaves(steps, { canWrite: true });
      expect(waves.flat().sort((one, other) => one - other)).toEqual([...steps.keys()]);
      const sequence = mergeSequence(steps, { canWrite: true });
      expect(sequence.toSorted((one, other) => one - other)).toEqual([...steps.keys()]);
      const rank = (place: number): number => sequence.indexOf(place);
      const wave = (place: number): number => waves.findIndex((each) => each.includes(place));
      const owned = ({ owns, writes }: ScheduledStep): readonly string[] =>
        owns.length === 0 && writes ? ["**"] : owns;
      for (const [place, one] of steps.entries()) {
        for (const before of one.dependsOn) expect(rank(before)).toBeLessThan(rank(place));
        for (const [later, other] of steps.entries()) {
          if (!ownershipOverlaps(owned(one), owned(other)) || wave(place) >= wave(later)) continue;
          expect(rank(place)).toBeLessThan(rank(later));
        }
      }
    }),
    { numRuns: cases(300) },
  );
});

test("a plan whose merges wait for their turn never stands still, however its steps end", () => {
  fc.assert(
    fc.property(
      anySteps,
      fc.infiniteStream(fc.nat(1000)),
      fc.integer({ min: 1, max: 4 }),
      (steps, dice, atOnce) => {
        const sequence = mergeSequence(steps, { canWrite: true });
        const options = { atOnce, canWrite: true, wasBegun: () => false, sequence };
        const progress = new PlanProgress(steps, options);
        const open = new Set(steps.keys());
        const running = new Set<number>();
        for (;;) {
          for (const { place } of progress.start()) running.add(place);
          if (running.size === 0) break;
          // A step that has changed something ends when no step before it can change anything more.
          const next = sequence.find((place) => open.has(place));
          const may = [...running].filter((place) => !steps[place]?.writes || place === next);
          expect(may).not.toEqual([]);
          const place = may[dice.next().value % may.length] ?? -1;
          running.delete(place);
          const outcome =
            dice.next().value % 4 === 0 ? ("failed" as const) : ("completed" as const);
          for (const over of progress.settle(place, outcome)) open.delete(over);
        }
      },
    ),
    { numRuns: cases(500) },
  );
});
