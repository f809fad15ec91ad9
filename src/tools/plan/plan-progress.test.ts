import fc from "fast-check";
import { describe, expect, it, test } from "vitest";
import { cases } from "../../testing/cases.test-support.ts";
import { ownershipOverlaps } from "../../workspaces/git/integration/match-ownership.ts";
import { PlanProgress, type ProgressOptions, type ScheduledStep } from "./plan-progress.ts";

function step(id: string, fields: Partial<ScheduledStep> = {}): ScheduledStep {
  return { id, dependsOn: [], owns: [], retries: 0, onFailure: "fail", writes: false, ...fields };
}

function progressOf(steps: readonly ScheduledStep[], options: Partial<ProgressOptions> = {}) {
  const progress = new PlanProgress(steps, {
    atOnce: Number.POSITIVE_INFINITY,
    canWrite: true,
    wasBegun: () => false,
    ...options,
  });
  return { progress, start: () => progress.start().map(({ key }) => key) };
}

describe("the progress of a plan", () => {
  it("starts what depends on nothing, and the rest when all that it needs is completed", () => {
    const { progress, start } = progressOf([
      step("a"),
      step("b"),
      step("c", { dependsOn: [0, 1] }),
      step("d", { dependsOn: [0] }),
    ]);
    expect(start()).toEqual(["a", "b"]);
    expect(start()).toEqual([]);
    progress.settle(0, "completed");
    expect(start()).toEqual(["d"]);
    progress.settle(1, "completed");
    expect(start()).toEqual(["c"]);
    expect(progress.runningCount).toBe(2);
  });

  it("lets steps whose ownership overlaps wait for each other, the earlier one first", () => {
    const { progress, start } = progressOf([
      step("a", { owns: ["src/**"] }),
      step("b", { owns: ["src/login"] }),
      step("c", { owns: ["docs/**"] }),
      step("d", { owns: ["src/login/form.ts"] }),
    ]);
    expect(start()).toEqual(["a", "c"]);
    progress.settle(2, "completed");
    expect(start()).toEqual([]);
    progress.settle(0, "completed");
    expect(start()).toEqual(["b"]);
    progress.settle(1, "completed");
    expect(start()).toEqual(["d"]);
  });

  it("takes a step that can write and owns nothing for one that could change anything", () => {
    const steps = [
      step("free", { writes: true }),
      step("reader"),
      step("other", { writes: true }),
      step("owner", { writes: true, owns: ["docs"] }),
    ];
    expect(progressOf(steps).start()).toEqual(["free", "reader"]);
    expect(progressOf(steps, { canWrite: false }).start()).toEqual([
      ...["free", "reader", "other", "owner"],
    ]);
  });

  it("gives a failed step to another child as often as it says, and then fails", () => {
    const { progress, start } = progressOf([
      step("a", { retries: 2 }),
      step("b", { dependsOn: [0] }),
    ]);
    expect(start()).toEqual(["a"]);
    progress.settle(0, "failed");
    expect(start()).toEqual(["a-2"]);
    progress.settle(0, "failed");
    expect(start()).toEqual(["a-3"]);
    progress.settle(0, "failed");
    expect(start()).toEqual([]);
    expect([progress.stateOf(0), progress.stateOf(1)]).toEqual(["failed", "waiting"]);
  });

  it("does not try again what was refused", () => {
    const { progress, start } = progressOf([step("a", { retries: 2 })]);
    start();
    progress.settle(0, "refused");
    expect(start()).toEqual([]);
    expect(progress.stateOf(0)).toBe("failed");
  });

  it.each([
    ["fail", []],
    ["continue", ["c"]],
  ] as const)("after a failure with on_failure %s it starts %j", (onFailure, more) => {
    const { progress, start } = progressOf(
      [step("a", { onFailure }), step("b", { dependsOn: [0] }), step("c"), step("d")],
      { atOnce: 2 },
    );
    expect(start()).toEqual(["a", "c"]);
    progress.settle(0, "failed");
    expect(start()).toEqual(more.length === 0 ? [] : ["d"]);
    progress.settle(2, "completed");
    expect(start()).toEqual([]);
    expect(progress.stateOf(1)).toBe("waiting");
  });

  it("keeps to the number that may be under way at once", () => {
    const { progress, start } = progressOf([step("a"), step("b"), step("c")], { atOnce: 2 });
    expect(start()).toEqual(["a", "b"]);
    progress.settle(1, "completed");
    expect(start()).toEqual(["c"]);
  });
});

describe("after a crash", () => {
  it("comes back to every child that was made before it begins anything new", () => {
    // Originally e ended and b began before d did: a, with a lower place, must not get in its way.
    const steps = [
      step("a", { dependsOn: [2], owns: ["src"] }),
      step("b", { dependsOn: [3], owns: ["src"] }),
      step("d"),
      step("e"),
    ];
    const begun = new Set(["b", "d", "e"]);
    const { progress, start } = progressOf(steps, { wasBegun: (key) => begun.has(key) });
    expect(start()).toEqual(["d", "e"]);
    progress.settle(2, "completed");
    expect(start()).toEqual([]);
    progress.settle(3, "completed");
    expect(start()).toEqual(["b"]);
    progress.settle(1, "completed");
    expect(start()).toEqual(["a"]);
  });

  it("waits for what was begun though another step has failed by now", () => {
    const steps = [step("a"), step("x"), step("c", { dependsOn: [1] }), step("new")];
    const begun = new Set(["a", "x", "c"]);
    const { progress, start } = progressOf(steps, { wasBegun: (key) => begun.has(key) });
    expect(start()).toEqual(["a", "x"]);
    progress.settle(0, "failed");
    progress.settle(1, "completed");
    expect(start()).toEqual(["c"]);
    progress.settle(2, "completed");
    expect(start()).toEqual([]);
    expect(progress.stateOf(3)).toBe("waiting");
  });

  it("goes on from the try that it was at", () => {
    const begun = new Set(["a", "a-2"]);
    const steps = [step("a", { retries: 1 }), step("b")];
    const { progress, start } = progressOf(steps, { wasBegun: (key) => begun.has(key) });
    expect(start()).toEqual(["a"]);
    progress.settle(0, "failed");
    expect(start()).toEqual(["a-2", "b"]);
  });

  it("is not held up by what it cannot reach any more", () => {
    const steps = [step("a"), step("b", { dependsOn: [0] })];
    const { start } = progressOf(steps, { wasBegun: (key) => key === "b" });
    expect(start()).toEqual(["a"]);
  });
});

const patterns = ["src/**", "src/a", "src/a/b.ts", "docs", "*.md", "tests/**", "src/*/x"];

const anyPlan = fc.array(
  fc.record({
    dependsOn: fc.uniqueArray(fc.nat(11), { maxLength: 3 }),
    owns: fc.uniqueArray(fc.constantFrom(...patterns), { maxLength: 2 }),
    retries: fc.nat(3),
    onFailure: fc.constantFrom("fail" as const, "continue" as const),
    writes: fc.boolean(),
  }),
  { minLength: 1, maxLength: 12 },
);

test("whatever the plan and however its steps end, its promises hold", () => {
  fc.assert(
    fc.property(
      anyPlan,
      fc.infiniteStream(fc.nat(100)),
      fc.integer({ min: 1, max: 5 }),
      (drawn, dice, atOnce) => {
        const steps = drawn.map((fields, place) => {
          // Only backwards, so that there are no circles.
          const dependsOn = fields.dependsOn.filter((each) => each < place);
          return step(`s${place}`, { ...fields, dependsOn });
        });
        const { progress } = progressOf(steps, { atOnce });
        const roll = (most: number): number => dice.next().value % most;
        const running: number[] = [];
        const tries = steps.map(() => 0);
        let stopped = false;
        for (;;) {
          for (const { number, place } of progress.start()) {
            const { dependsOn, owns } = steps[place] ?? step("");
            expect(stopped).toBe(false);
            expect(dependsOn.every((each) => progress.stateOf(each) === "completed")).toBe(true);
            for (const other of running) {
              expect(ownershipOverlaps(owns, steps[other]?.owns ?? [])).toBe(false);
            }
            running.push(place);
            tries[place] = number;
          }
          expect(running.length).toBeLessThanOrEqual(atOnce);
          const [place] = running.splice(roll(Math.max(1, running.length)), 1);
          if (place === undefined) break;
          const outcome = roll(3) === 0 ? ("failed" as const) : ("completed" as const);
          progress.settle(place, outcome);
          const { onFailure = "fail" } = steps[place] ?? {};
          if (progress.stateOf(place) === "failed" && onFailure === "fail") stopped = true;
        }
        // Nothing is left that could have been done.
        for (const [place, { dependsOn, retries }] of steps.entries()) {
          const state = progress.stateOf(place);
          expect(state).not.toBe("running");
          expect(tries[place]).toBeLessThanOrEqual(retries + 1);
          const isFree = dependsOn.every((each) => progress.stateOf(each) === "completed");
          if (state === "waiting") expect(stopped || !isFree).toBe(true);
        }
      },
    ),
    { numRuns: cases(300) },
  );
});

/** How many steps are done when nothing more can begin. */
function completeAll(steps: readonly ScheduledStep[]): number {
  const { progress } = progressOf(steps, { atOnce: 64 });
  let done = 0;
  for (;;) {
    const running = progress.start();
    if (running.length === 0) break;
    for (const { place } of running) {
      progress.settle(place, "completed");
      done++;
    }
  }
  return done;
}

/** Layers of forty, each step after two of the layer before. */
function layered(count: number, fields: (place: number) => Partial<ScheduledStep>) {
  return Array.from({ length: count }, (_, place) => {
    const dependsOn = place < 40 ? [] : [place - 40, place - 40 + ((place + 1) % 40 === 0 ? 0 : 1)];
    return step(`s${place}`, { dependsOn: [...new Set(dependsOn)], ...fields(place) });
  });
}

test("500 steps, forty wide, are all scheduled", () => {
  const own = (place: number) => ({ owns: [`src/part-${place}/**`, `docs/${place}.md`] });
  expect(completeAll(layered(500, own))).toBe(500);
});

test("10,000 steps work, also when all of them want the same files", () => {
  expect(completeAll(layered(10_000, () => ({})))).toBe(10_000);
  const rivals = Array.from({ length: 10_000 }, (_, place) => step(`s${place}`, { owns: ["src"] }));
  expect(completeAll(rivals)).toBe(10_000);
});
