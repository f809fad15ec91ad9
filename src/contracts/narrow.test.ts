import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Authority } from "./authority.ts";
import { type Ceiling, type Granted, type Narrowing, narrow } from "./narrow.ts";
import { askings, ceilingBelow, ceilings, tools } from "./narrowing.test-support.ts";
import type { Selection } from "./selection.ts";

/** Five levels each; set MANDATE_PROPERTY_RUNS for more. */
const runs = Number(process.env["MANDATE_PROPERTY_RUNS"] ?? 20_000);

// Containment in other words than those of the code: what cannot be reached stays unreachable.
const probes = ["a", "b", "c", "d", ...tools, "p/one", "p/two", "q/three", "", "*", "__proto__"];
const places = ["/", "/etc", "/w", "/w/a", "/w/a/b", "/w/ab", "/tmp/x"];

const allows = (selection: Selection, name: string): boolean =>
  selection === "*" || selection.some((each) => each === name);

function mayWrite(roots: readonly string[], place: string): boolean {
  const parts = (path: string): string[] =>
    new URL(`file://${path}`).pathname.split("/").filter(Boolean);
  return roots.some((root) => {
    if (!root.startsWith("/")) return false;
    const [outer, inner] = [parts(root), parts(place)];
    return outer.every((part, index) => inner[index] === part);
  });
}

function excessOf(inner: Authority, outer: Authority): string[] {
  const fields = ["tools", "skills", "mcp_servers", "models", "scopes", "network"] as const;
  const named = fields.filter((field) =>
    probes.some((name) => allows(inner[field], name) && !allows(outer[field], name)),
  );
  const open = fields.filter((field) => inner[field] === "*" && outer[field] !== "*");
  const written = places.filter(
    (place) => mayWrite(inner.write_roots, place) && !mayWrite(outer.write_roots, place),
  );
  return [...named, ...open, ...written];
}

function checkLevel({ ceiling, rules }: Narrowing, granted: Granted): void {
  const below = ceilingBelow(granted);
  expect(excessOf(granted.mayUse, ceiling.authority)).toEqual([]);
  expect(excessOf(below.authority, ceiling.authority)).toEqual([]);
  expect(granted.mayUse.tools).not.toBe("*");
  for (const tool of granted.mayUse.tools) expect(tools).toContain(tool);
  expect(allows(granted.mayUse.models, granted.model)).toBe(true);
  expect(rules.allowsModel(granted.model)).toBe(true);
  for (const amount of [granted.tokens, granted.timeMs, granted.depth]) {
    expect(Number.isSafeInteger(amount)).toBe(true);
  }
  expect(granted.tokens).toBeGreaterThan(0);
  expect(granted.tokens).toBeLessThanOrEqual(Math.min(ceiling.tokens, rules.maxTokens));
  expect(granted.timeMs).toBeGreaterThan(0);
  expect(granted.timeMs).toBeLessThanOrEqual(ceiling.timeMs);
  expect(granted.depth).toBeLessThanOrEqual(
    Math.max(0, Math.min(ceiling.depth - 1, rules.maxDepth)),
  );
  if (ceiling.cost !== null) expect(granted.cost).toBeLessThanOrEqual(ceiling.cost);
  expect(granted.canSpawn).toBe(granted.depth > 0);
  if (granted.depth === 0) {
    expect(granted.mayUse.tools).not.toContain("delegate_task");
    expect(granted.mayUse.tools).not.toContain("spawn");
  }
}

describe("narrow, whatever is asked", () => {
  it("grants no more than the caller may hand on, at every depth to five", () => {
    let granted = 0;
    fc.assert(
      fc.property(ceilings, fc.array(askings, { minLength: 5, maxLength: 5 }), (top, levels) => {
        let ceiling = top;
        for (const asking of levels) {
          const narrowing = { ...asking, ceiling };
          const outcome = narrow(narrowing);
          if (!outcome.allowed) {
            expect(outcome.rule).not.toBe("");
            expect(outcome.reason).not.toBe("");
            continue;
          }
          granted++;
          checkLevel(narrowing, outcome);
          ceiling = ceilingBelow(outcome);
        }
      }),
      { numRuns: runs / 5 },
    );
    // A property that mostly refuses would prove little.
    expect(granted).toBeGreaterThan(runs / 5);
  });

  it("says in the receipt what was asked and left out", () => {
    fc.assert(
      fc.property(ceilings, askings, (ceiling, asking) => {
        const outcome = narrow({ ...asking, ceiling });
        if (!outcome.allowed) return;
        const lines = new Map(outcome.receipt.map((line) => [line.field, line]));
        for (const tool of asking.request.tools ?? []) {
          const line = lines.get("tools");
          const kept = outcome.mayUse.tools.includes(tool);
          expect(kept || line?.dropped?.includes(tool)).toBe(true);
        }
        const { modelOverride } = asking.request;
        if (modelOverride !== undefined && modelOverride !== outcome.model) {
          expect(lines.get("model")).toMatchObject({ requested: modelOverride });
          expect(lines.get("model")?.reason).toBeTruthy();
        }
      }),
      { numRuns: runs / 10 },
    );
  });
});

const ceiling: Ceiling = {
  authority: {
    tools: [...tools],
    skills: "*",
    mcp_servers: "*",
    models: "*",
    scopes: "*",
    write_roots: ["/w"],
    network: "*",
  },
  depth: 4,
  tokens: 10_000,
  cost: null,
  timeMs: 10_000,
};

function grant(from: Ceiling, profile: Partial<Narrowing["profile"]>, more?: Partial<Narrowing>) {
  const outcome = narrow({
    ceiling: from,
    profile: { name: "child", model: "p/one", ...profile },
    request: {},
    rules: rules(),
    mayNest: true,
    ...more,
  });
  if (!outcome.allowed) throw new Error(outcome.reason);
  return outcome;
}

describe("what an agent uses and what it hands on", () => {
  it("are the same unless said otherwise: below a read-only planner all is read-only", () => {
    const planner = grant(ceiling, { tools: ["read_file", "delegate_task"], write_roots: [] });
    const builder = grant(ceilingBelow(planner), { tools: ["read_file", "write_file", "shell"] });
    expect(builder.mayUse.tools).toEqual(["read_file"]);
    expect(builder.mayUse.write_roots).toEqual([]);
    expect(builder.receipt).toMatchObject([{ field: "tools", dropped: ["write_file", "shell"] }]);
  });

  it("differ when said: a narrow orchestrator hands on what it lacks, within its own ceiling", () => {
    const orchestrator = grant(ceiling, {
      tools: ["delegate_task"],
      mayDelegate: { tools: ["read_file", "write_file", "root_everything"], write_roots: ["/"] },
    });
    expect(orchestrator.mayUse.tools).toEqual(["delegate_task"]);
    const builder = grant(ceilingBelow(orchestrator), { tools: ["write_file", "shell"] });
    expect(builder.mayUse.tools).toEqual(["write_file"]);
    expect(builder.mayUse.write_roots).toEqual(["/w"]);
  });

  it("is never more than the caller's caller hands on, however wide a profile in between claims", () => {
    const planner = grant(ceiling, { tools: ["read_file", "delegate_task"] });
    const greedy = grant(ceilingBelow(planner), { tools: "*", mayDelegate: { tools: "*" } });
    expect(greedy.mayUse.tools).toEqual(["read_file", "delegate_task"]);
    expect(ceilingBelow(greedy).authority.tools).toEqual(["read_file", "delegate_task"]);
  });
});

describe("lists", () => {
  it("inherit when absent, mean none when empty and all only when they say so", () => {
    expect(grant(ceiling, {}).mayUse.tools).toEqual([...tools]);
    expect(grant(ceiling, { tools: [], skills: [] }).mayUse).toMatchObject({
      tools: [],
      skills: [],
    });
    expect(grant(ceiling, { tools: "*", skills: "*" }).mayUse.skills).toBe("*");
    const registered = { entry: { allowedForwardSkills: [] }, request: { forwardSkills: ["a"] } };
    expect(grant(ceiling, {}, registered).mayUse.skills).toEqual([]);
    expect(grant(ceiling, {}, { entry: {} }).mayUse).toMatchObject({ skills: [], mcp_servers: [] });
  });

  it("that ask for tools and get none of them refuse", () => {
    const outcome = narrow({
      ...{ ceiling, mayNest: true },
      profile: { name: "child", model: "p/one" },
      request: { tools: ["Shell", "shell "] },
      rules: { ...rules(), explicitTools: "override" },
    });
    expect(outcome).toMatchObject({ allowed: false, rule: "tools" });
  });
});

describe("amounts", () => {
  it("that are no amounts are refused or count as none", () => {
    for (const tokens of [Number.NaN, 0, -5, 0.5]) {
      const asked = { ceiling, mayNest: true, rules: rules(), request: { tokens } };
      const outcome = narrow({ ...asked, profile: { name: "child", model: "p/one" } });
      expect(outcome).toMatchObject({ allowed: false, rule: "budget" });
    }
    for (const depth of [Number.NaN, -1, 0.9]) {
      expect(grant(ceiling, {}, { request: { depth } })).toMatchObject({
        depth: 0,
        canSpawn: false,
      });
    }
    expect(grant(ceiling, {}, { request: { tokens: 99.9, depth: 1.5 } })).toMatchObject({
      tokens: 99,
      depth: 1,
    });
  });
});

function rules(): Narrowing["rules"] {
  return {
    maxDepth: 4,
    defaultTokens: 1000,
    maxTokens: 5000,
    defaultTimeMs: 1000,
    allowsModel: () => true,
    spawningTools: new Set(["delegate_task"]),
    explicitTools: "select",
  };
}
