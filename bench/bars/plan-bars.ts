import { planWaves } from "../../src/tools/plan/plan-order.ts";
import { PlanProgress, type ScheduledStep } from "../../src/tools/plan/plan-progress.ts";
import { validatePlan } from "../../src/tools/plan/validate-plan.ts";
import { type Bar, growth, linear, ratio, worstGrowth, yardstick } from "./bar.ts";

const wide = 40;

/** Layers of forty steps; each step waits for two steps of the layer before. */
function layers(count: number, owns: (place: number) => readonly string[]): ScheduledStep[] {
  return Array.from({ length: count }, (_, place) => {
    const before = place - wide;
    const next = (place + 1) % wide === 0 ? before : before + 1;
    return {
      ...{ id: `s${place}`, retries: 0, onFailure: "fail", writes: false, owns: owns(place) },
      dependsOn: place < wide ? [] : [...new Set([before, next])],
    };
  });
}

const rivals = (count: number): ScheduledStep[] =>
  layers(count, () => ["src"]).map((step) => ({ ...step, dependsOn: [] }));

/** Every decision that the plan needs, from its first step to its last. */
function schedule(steps: readonly ScheduledStep[]): void {
  const progress = new PlanProgress(steps, {
    ...{ atOnce: 64, canWrite: true, wasBegun: () => false },
  });
  let done = 0;
  for (let running = progress.start(); running.length > 0; running = progress.start()) {
    for (const { place } of running) progress.settle(place, "completed");
    done += running.length;
  }
  if (done !== steps.length) throw new Error(`${done} of ${steps.length} steps were done.`);
}

type Fields = (place: number, count: number) => object;

const documentOf = (count: number, fields: Fields) => ({
  steps: Array.from({ length: count }, (_, place) => {
    const step = { id: `s${place}`, title: "t", description: "d", profile: "coder" };
    return { ...step, ...fields(place, count) };
  }),
});

const chain: Fields = (place) => (place === 0 ? {} : { depends_on: [`s${place - 1}`] });

const wrong: readonly Fields[] = [
  (place, count) => ({ depends_on: [`s${(place + 1) % count}`] }),
  (place) => ({ depends_on: [`x${place}`] }),
  () => ({ depends_on: ["t"] }),
  () => ({ profile: "codr" }),
];

const bounds = {
  profiles: {
    find: (name: string) => (name === "coder" ? { writes: true } : undefined),
    names: () => ["coder", "reader", "reviewer"],
  },
  maxChildren: 20_000,
};

/** Plans of thousands of steps. */
export const planBars: readonly Bar[] = [
  {
    name: "plans: 500 steps, forty at once",
    about: "scheduling all of them over 1,000 small JSON records",
    atMost: 100,
    measure() {
      const steps = layers(500, (place) => [`src/part-${place}/**`, `docs/${place}.md`]);
      return ratio(() => schedule(steps), yardstick);
    },
  },
  {
    name: "plans: 10,000 steps",
    ...linear,
    measure: () =>
      growth(1250, (size) => {
        const steps = layers(size, () => []);
        return () => schedule(steps);
      }),
  },
  {
    name: "plans: 10,000 steps that want the same files",
    ...linear,
    measure: () =>
      growth(1250, (size) => {
        const steps = rivals(size);
        return () => schedule(steps);
      }),
  },
  {
    name: "plans: 10,000 steps in one chain are read and ordered",
    ...linear,
    measure: () =>
      growth(1250, (size) => {
        const document = documentOf(size, chain);
        return () => {
          const { plan } = validatePlan(document, bounds) as never as {
            readonly plan: Parameters<typeof planWaves>[0];
          };
          if (planWaves(plan).length !== size) throw new Error("Steps are missing.");
        };
      }),
  },
  {
    name: "plans: 10,000 steps that are wrong are refused",
    ...linear,
    measure: () =>
      worstGrowth(wrong, 1250, (fields, size) => {
        const document = documentOf(size, fields);
        return () => {
          if (validatePlan(document, bounds).problems === undefined) {
            throw new Error("The plan was accepted.");
          }
        };
      }),
  },
];
