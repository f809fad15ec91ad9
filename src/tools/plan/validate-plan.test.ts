import fc from "fast-check";
import { describe, expect, it, test } from "vitest";
import type { Profile } from "../../agents/profiles/profile.ts";
import { planWaves } from "./plan-order.ts";
import { findCycles, planProfiles, validatePlan } from "./validate-plan.ts";

function profile(name: string, fields: Partial<Profile> = {}): Profile {
  return {
    name,
    description: name,
    capabilities: ["subtask"],
    prompt: "",
    origin: "test",
    ...fields,
  };
}

const known = [
  profile("coder"),
  profile("reader", { tools: ["read_file", "grep"] }),
  profile("reviewer", { workspace: { allowWrites: false } }),
  profile("pair", { capabilities: ["watcher"] }),
];

const registry = {
  get: (name: string) => known.find((each) => each.name === name),
  problemOf: (name: string) =>
    name === "broken" ? { name, file: "broken.md", message: "broken.md:3: no." } : undefined,
  offered: () => known,
};

const profiles = planProfiles(registry, (name) => {
  return name.startsWith("@") ? { "@coder": "coder" }[name] : name;
});

function check(document: unknown, maxChildren = 20_000) {
  const { problems = [] } = validatePlan(document, { profiles, maxChildren });
  return problems.map(({ field, kind, step }) => [kind, step, field]);
}

function messages(document: unknown): readonly string[] {
  const { problems = [] } = validatePlan(document, { profiles, maxChildren: 20_000 });
  return problems.map(({ message }) => message);
}

const step = (fields: object = {}) => ({
  title: "t",
  description: "d",
  profile: "coder",
  ...fields,
});

describe("a plan", () => {
  it("may name its steps or not, and says by id or title what each depends on", () => {
    const document = {
      steps: [
        step({ title: "First" }),
        step({ id: "second", depends_on: ["First", "step-1"] }),
        step({ depends_on: ["second"], review: true, retries: 3, on_failure: "continue" }),
      ],
    };
    const { plan } = validatePlan(document, { profiles, maxChildren: 5 }) as never as {
      plan: { steps: readonly object[] };
    };
    expect(plan.steps).toMatchObject([
      { id: "step-1", dependsOn: [], owns: [], retries: 0, onFailure: "fail", reviewer: null },
      { id: "second", dependsOn: [0] },
      { id: "step-3", dependsOn: [1], reviewer: "reviewer", retries: 3, onFailure: "continue" },
    ]);
  });

  it("is for profiles and handles, and knows which of them can write", () => {
    const names = ["coder", "reader", "reviewer", "@coder"];
    const document = { steps: names.map((name) => step({ profile: name })) };
    const { plan } = validatePlan(document, { profiles, maxChildren: 5 }) as never as {
      plan: { steps: readonly { writes: boolean }[] };
    };
    expect(plan.steps.map(({ writes }) => writes)).toEqual([true, false, false, true]);
  });

  it("may have steps whose ownership overlaps", () => {
    expect(check({ steps: [step({ owns: ["src/**"] }), step({ owns: ["src/a"] })] })).toEqual([]);
  });
});

describe("a plan is refused", () => {
  it.each([
    ["that is none", "x", [["schema", undefined, undefined]]],
    ["without steps", {}, [["schema", undefined, "steps"]]],
    ["with no steps", { steps: [] }, [["empty", undefined, "steps"]]],
    [
      "with 10,001 steps",
      { steps: Array(10_001).fill(0) },
      [["too_many_steps", undefined, "steps"]],
    ],
    ["with an unknown key", { steps: [step({ ownes: [] })] }, [["schema", 0, undefined]]],
    ["with a prototype's key", JSON.parse('{"steps":[{"__proto__":1}]}'), expect.anything()],
    ["with four retries", { steps: [step({ retries: 4 })] }, [["schema", 0, "retries"]]],
    ["that owns what lies outside", { steps: [step({ owns: ["/etc"] })] }, [["schema", 0, "owns"]]],
    ["that owns its way out", { steps: [step({ owns: ["a/../b"] })] }, [["schema", 0, "owns"]]],
    ["with an id that is no name", { steps: [step({ id: "a/b" })] }, [["schema", 0, "id"]]],
    [
      "with two of one id",
      { steps: [step({ id: "a" }), step({ id: "a" })] },
      [["duplicate_id", 1, "id"]],
    ],
    [
      "with another step's second try",
      { steps: [step({ id: "a" }), step({ id: "a-2" })] },
      [["duplicate_id", 1, "id"]],
    ],
    [
      "with another step's review",
      { steps: [step({ id: "a" }), step({ id: "a-review" })] },
      [["duplicate_id", 1, "id"]],
    ],
    [
      "that takes an unnamed step's name",
      { steps: [step({ id: "step-2" }), step()] },
      [["duplicate_id", 1, "id"]],
    ],
    [
      "whose step needs itself",
      { steps: [step({ id: "a", depends_on: ["a"] })] },
      [["self_dependency", 0, "depends_on"]],
    ],
    [
      "whose step needs nobody",
      { steps: [step({ depends_on: ["x"] })] },
      [["unknown_dependency", 0, "depends_on"]],
    ],
    [
      "whose step needs one of two",
      { steps: [step(), step(), step({ title: "u", depends_on: ["t"] })] },
      [["ambiguous_dependency", 2, "depends_on"]],
    ],
    ["for nobody", { steps: [step({ profile: "nobody" })] }, [["unknown_profile", 0, "profile"]]],
    [
      "for an unknown handle",
      { steps: [step({ profile: "@x" })] },
      [["unknown_profile", 0, "profile"]],
    ],
    ["for a watcher", { steps: [step({ profile: "pair" })] }, [["unusable_profile", 0, "profile"]]],
    [
      "for a broken profile",
      { steps: [step({ profile: "broken" })] },
      [["unusable_profile", 0, "profile"]],
    ],
    [
      "for a reviewer who is nobody",
      { steps: [step({ review: { profile: "x" } })] },
      [["unknown_profile", 0, "review"]],
    ],
  ])("%s", (_what, document, problems) => {
    expect(check(document)).toEqual(problems);
  });

  it("when a run cannot have so many delegations, reviews and its runner among them", () => {
    const document = { steps: [step({ review: true }), step({ review: true })] };
    expect(check(document, 5)).toEqual([]);
    expect(check(document, 4)).toEqual([["too_many_steps", undefined, "steps"]]);
  });

  it("with sentences that say what to do", () => {
    const cycle = ["a", "b", "c"].map((id, place) => {
      return step({ id, depends_on: ["abc"[(place + 1) % 3]] });
    });
    expect(messages({ steps: cycle })).toEqual([
      "Steps wait for each other in a circle, each for the next: a → b → c → a. Take one of these dependencies out.",
    ]);
    expect(
      messages({ steps: [step({ depends_on: [0], titel: "x" }), step({ review: 1 })] }),
    ).toEqual([
      "Step 1: depends_on[0]: write the id or the title of a step; a number could be counted from 0 or 1.",
      'Step 1: there is no key "titel"; did you mean "title"?',
      "Step 2: review is true, false, or { profile: NAME }.",
    ]);
    expect(messages({ steps: [step({ id: "form", description: undefined })] })).toEqual([
      'Step 1 ("form"): description is missing.',
    ]);
    expect(messages({ goal: 1, steps: [step()], aproval: true })).toEqual([
      "The plan: goal: expected string, received number.",
      'The plan: there is no key "aproval"; did you mean "approval"?',
    ]);
  });
});

test("10,000 steps in one chain are read, ordered and found to be in a circle", () => {
  const steps = Array.from({ length: 10_000 }, (_, place) => {
    return step({ id: `s${place}`, depends_on: place === 0 ? [] : [`s${place - 1}`] });
  });
  const { plan } = validatePlan({ steps }, { profiles, maxChildren: 20_000 }) as never as {
    plan: Parameters<typeof planWaves>[0];
  };
  expect(planWaves(plan)).toHaveLength(10_000);
  const circle = [step({ id: "s0", depends_on: ["s9999"] }), ...steps.slice(1)];
  expect(messages({ steps: circle })[0]).toMatch(
    /^Steps wait .*s0 → s9999 → s9998 → .* → … → s0\. /,
  );
});

test("circles are found exactly where there are some", () => {
  const anyGraph = fc.array(fc.uniqueArray(fc.nat(9), { maxLength: 3 }), {
    minLength: 1,
    maxLength: 10,
  });
  fc.assert(
    fc.property(anyGraph, (drawn) => {
      const graph = drawn.map((all) => all.filter((each) => each < drawn.length));
      const cycles = findCycles(graph);
      for (const cycle of cycles) {
        for (const [index, place] of cycle.entries()) {
          expect(graph[place]).toContain(cycle[(index + 1) % cycle.length]);
        }
      }
      const reaches = (from: number, to: number, seen = new Set<number>()): boolean =>
        (graph[from] ?? []).some((next) => {
          if (next === to) return true;
          if (seen.has(next)) return false;
          return reaches(next, to, seen.add(next));
        });
      const hasCircle = graph.some((_, place) => reaches(place, place));
      expect(cycles.length > 0).toBe(hasCircle);
    }),
  );
});
