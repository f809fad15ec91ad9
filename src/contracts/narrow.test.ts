import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { cases } from "../testing/cases.test-support.ts";
import type { Authority } from "./authority.ts";
import { type Ceiling, type Granted, type Narrowing, narrow } from "./narrow.ts";
import { askings, ceilingBelow, ceilings, tools } from "./narrowing.test-support.ts";
import type { Selection } from "./selection.ts";

const tried = cases(100_000);

// Containment in other words than those of the code: what cannot be reached stays unreachable.
const fields = ["tools", "skills", "mcp_servers", "models", "scopes", "network"] as const;
const probes = ["a", "b", "c", "d", ...tools, "p/one", "p/two", "q/three", "", "*", "__proto__"];
const places = ["/", "/etc", "/w", "/w/a", "/w/a/b", "/w/ab", "/tmp/x"];

const allows = (selection: Selection, name: string): boolean =>
  selection === "*" ||
  selection.some(
    (each) => each === name || (/__\*$/.test(each) && name.startsWith(each.replace(/\*$/, ""))),
  );

const segments = new Map<string, readonly string[]>();

function segmentsOf(path: string): readonly string[] {
  const known = segments.get(path);
  if (known) return known;
  const parts = new URL(`file://${path}`).pathname.split("/").filter(Boolean);
  segments.set(path, parts);
  return parts;
}

function mayWrite(roots: readonly string[], place: string): boolean {
  const inner = segmentsOf(place);
  return roots.some(
    (root) => root.startsWith("/") && segmentsOf(root).every((part, at) => inner[at] === part),
  );
}

function* excesses(inner: Authority, outer: Authority): Generator<string> {
  for (const field of fields) {
    if (inner[field] === "*" && outer[field] !== "*") yield `all ${field}`;
    for (const name of probes) {
      if (allows(inner[field], name) && !allows(outer[field], name)) yield `${field}: ${name}`;
    }
  }
  const kept = (inner.rules ?? []).map((rules) => JSON.stringify(rules));
  for (const rules of outer.rules ?? []) {
    if (!kept.includes(JSON.stringify(rules))) yield `freedom from ${JSON.stringify(rules)}`;
  }
  for (const place of places) {
    if (mayWrite(inner.write_roots, place) && !mayWrite(outer.write_roots, place)) {
      yield `writing in ${place}`;
    }
  }
}

/** What is wrong with a grant, in words; nothing, one hopes. */
function* wrongs({ ceiling, hasPrice, rules }: Narrowing, granted: Granted): Generator<string> {
  yield* excesses(granted.mayUse, ceiling.authority);
  yield* excesses(granted.mayDelegate ?? granted.mayUse, ceiling.authority);
  for (const tool of granted.mayUse.tools) {
    const server = /^mcp__(.*?)__/.exec(tool)?.[1];
    const isKnown = server !== undefined || (tools as readonly string[]).includes(tool);
    if (!isKnown) yield `unknown tool ${tool}`;
    if (server !== undefined && !allows(granted.mayUse.mcp_servers, server)) {
      yield `${tool} of a server that is not granted`;
    }
    if (granted.depth === 0 && rules.spawningTools.has(tool)) yield `${tool} without depth`;
  }
  if (granted.mayUse.mcp_servers === "*") yield "servers that are not written out";
  for (const model of granted.fallbacks) {
    if (!allows(granted.mayUse.models, model)) yield `falls back on ${model}`;
  }
  if (!allows(granted.mayUse.models, granted.model)) yield "a model it may not use";
  if (!rules.allowsModel(granted.model)) yield "a model the operator does not allow";
  const { depth, tokens, timeMs } = granted;
  if (![depth, tokens, timeMs].every(Number.isSafeInteger)) yield "an amount that is no number";
  if (tokens < 1 || tokens > Math.min(ceiling.tokens, rules.maxTokens)) yield "tokens";
  if (timeMs < 1 || timeMs > ceiling.timeMs) yield "time";
  if (depth < 0 || depth > Math.max(0, Math.min(ceiling.depth - 1, rules.maxDepth))) yield "depth";
  if (ceiling.cost !== null && (granted.cost ?? Number.POSITIVE_INFINITY) > ceiling.cost)
    yield "cost";
  if (granted.canSpawn !== depth > 0) yield "spawning";
  const unpriced = [granted.model, ...granted.fallbacks].find((name) => !hasPrice(name));
  if (granted.cost !== null && unpriced !== undefined) yield `${unpriced} without a price`;
}

describe("narrow, whatever is asked", () => {
  it("grants no more than the caller may hand on, at every depth to five", () => {
    let granted = 0;
    const fiveLevels = fc.array(askings, { minLength: 5, maxLength: 5 });
    fc.assert(
      fc.property(ceilings, fiveLevels, (top, levels) => {
        let ceiling = top;
        for (const asking of levels) {
          const narrowing = { ...asking, ceiling };
          const outcome = narrow(narrowing);
          if (!outcome.allowed) {
            if (outcome.rule === "" || outcome.reason === "")
              throw new Error("refused without why");
            continue;
          }
          granted++;
          for (const wrong of wrongs(narrowing, outcome)) throw new Error(wrong);
          ceiling = ceilingBelow(outcome);
        }
      }),
      { numRuns: tried / 5 },
    );
    // A property that mostly refuses would prove little.
    expect(granted).toBeGreaterThan(tried / 5);
  });

  it("says in the receipt what was asked and left out", () => {
    fc.assert(
      fc.property(ceilings, askings, (ceiling, asking) => {
        const outcome = narrow({ ...asking, ceiling });
        if (!outcome.allowed) return;
        const lines = new Map(outcome.receipt.map((line) => [line.field, line]));
        for (const tool of asking.request.tools ?? []) {
          const line = lines.get("tools");
          const kept = allows(outcome.mayUse.tools, tool);
          expect(kept || line?.dropped?.includes(tool)).toBe(true);
        }
        const { modelOverride } = asking.request;
        if (modelOverride !== undefined && modelOverride !== outcome.model) {
          expect(lines.get("model")).toMatchObject({ requested: modelOverride });
          expect(lines.get("model")?.reason).toBeTruthy();
        }
      }),
      { numRuns: tried / 20 },
    );
  });
});

const ceiling: Ceiling = {
  authority: {
    tools: tools.filter((tool) => !tool.startsWith("mcp__")),
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
    inheritsSpawning: true,
    hasPrice: () => true,
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
    expect(grant(ceiling, {}).mayUse.tools).toEqual(ceiling.authority.tools);
    expect(grant(ceiling, { tools: [], skills: [] }).mayUse).toMatchObject({
      tools: [],
      skills: [],
    });
    expect(grant(ceiling, { tools: "*", skills: "*" }).mayUse.skills).toBe("*");
    const registered = { entry: { allowedForwardSkills: [] }, request: { forwardSkills: ["a"] } };
    expect(() => grant(ceiling, {}, registered)).toThrow(/^None of the skills asked for/);
    const none = { entry: {}, request: { forwardSkills: [] } };
    expect(grant(ceiling, {}, none).mayUse.skills).toEqual([]);
    expect(grant(ceiling, {}, { entry: {} }).mayUse).toMatchObject({ skills: [], mcp_servers: [] });
  });

  it("of tools bring along only the servers that they speak of", () => {
    const all = { ...ceiling.authority, tools: [...ceiling.authority.tools, "mcp__*"] };
    const wide = { ...ceiling, authority: all };
    const servers = (profile: Partial<Narrowing["profile"]>, more?: Partial<Narrowing>) => {
      const { mayUse } = grant(wide, profile, more);
      return [mayUse.mcp_servers, (mayUse.tools as string[]).filter((name) => /^mcp__/.test(name))];
    };
    expect(servers({})).toEqual([
      ["docs", "web"],
      ["mcp__docs__*", "mcp__web__*"],
    ]);
    expect(servers({ tools: ["read_file"] })).toEqual([[], []]);
    expect(servers({ tools: ["mcp__docs__find"] })).toEqual([["docs"], ["mcp__docs__find"]]);
    const listed = { tools: ["read_file"], mcp_servers: ["web"] };
    expect(servers(listed)).toEqual([["web"], ["mcp__web__*"]]);
    expect(servers({ mcp_servers: [] })).toEqual([[], []]);
    const own = { tools: ["read_file"], ownServers: ["mine"] };
    expect(servers(own)).toEqual([["mine"], ["mcp__mine__*"]]);
    const entry = { defaultMcpServers: ["docs", "web"], allowedMcpServers: ["web"] };
    expect(servers({}, { entry })).toEqual([["web"], ["mcp__web__*"]]);
    expect(servers({ tools: ["read_file"] }, { entry })).toEqual([[], []]);
    expect(servers({ tools: [] }, { entry })).toEqual([[], []]);
    const both = { tools: ["read_file"], mcp_servers: ["docs", "web"] };
    expect(servers(both, { entry })).toEqual([["web"], ["mcp__web__*"]]);
    const request = { tools: ["mcp__docs__find", "read_file"] };
    expect(servers({}, { request })).toEqual([["docs", "web"], ["mcp__docs__find"]]);
  });

  it("of servers that nobody knows are refused", () => {
    const outcome = narrow({
      ...{
        ceiling,
        mayNest: true,
        inheritsSpawning: true,
        hasPrice: () => true,
        request: {},
        rules: rules(),
      },
      profile: { name: "child", model: "p/one", mcp_servers: ["docs", "ghost"] },
    });
    expect(outcome).toMatchObject({ allowed: false, rule: "mcp_servers" });
    expect(!outcome.allowed && outcome.reason).toContain("the MCP server ghost");
  });

  it("that ask for tools and get none of them refuse", () => {
    const outcome = narrow({
      ...{ ceiling, mayNest: true, inheritsSpawning: true, hasPrice: () => true },
      profile: { name: "child", model: "p/one" },
      request: { tools: ["Shell", "shell "] },
      rules: { ...rules(), explicitTools: "override" },
    });
    expect(outcome).toMatchObject({ allowed: false, rule: "tools" });
  });
});

describe("amounts", () => {
  const grantOrRefusal = (request: Narrowing["request"]) =>
    narrow({
      ceiling,
      mayNest: true,
      inheritsSpawning: true,
      hasPrice: () => true,
      rules: rules(),
      request,
      profile: { name: "child", model: "p/one" },
    });

  it("in dollars are the least that the caller, the profile and the call say", () => {
    const costs = (above: number | null, own?: number, asked?: number) =>
      grant({ ...ceiling, cost: above }, { cost: own }, { request: { cost: asked } });
    expect(costs(null).cost).toBe(null);
    expect(costs(3).cost).toBe(3);
    expect(costs(null, 2).cost).toBe(2);
    expect(costs(3, 2, 1)).toMatchObject({
      cost: 1,
      receipt: [{ field: "cost", requested: 1, granted: 1 }],
    });
    expect(costs(3, 2, 9)).toMatchObject({
      cost: 2,
      receipt: [{ field: "cost", requested: 9, granted: 2, reason: expect.any(String) }],
    });
  });

  it("in dollars refuse a model without a price, and drop such a fallback", () => {
    const known = new Set(["p/one", "p/three"]);
    const hasPrice = (name: string) => known.has(name);
    const capped = { ...ceiling, cost: 3 };
    const fallbacks = ["p/two", "p/three"];
    expect(grant(capped, { fallbacks }, { hasPrice })).toMatchObject({
      model: "p/one",
      fallbacks: ["p/three"],
      receipt: [{ field: "fallbacks", granted: ["p/three"], dropped: ["p/two"] }],
    });
    expect(grant(ceiling, { fallbacks }, { hasPrice })).toMatchObject({ fallbacks, receipt: [] });
    known.delete("p/one");
    expect(() => grant(capped, { fallbacks }, { hasPrice })).toThrow(
      'models: { prices: { "p/one": { input: 2.50, output: 10.00 } } }',
    );
    expect(grant(ceiling, {}, { hasPrice }).model).toBe("p/one");
  });

  it("that are no amounts are refused or count as none", () => {
    for (const tokens of [Number.NaN, 0, -5, 0.5]) {
      expect(grantOrRefusal({ tokens })).toMatchObject({ allowed: false, rule: "budget" });
    }
    for (const cost of [Number.NaN, 0, -5]) {
      expect(grantOrRefusal({ cost })).toMatchObject({ allowed: false, rule: "budget" });
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
    servers: ["docs", "web"],
    serverPattern: (server) => `mcp__${server}__*`,
    explicitTools: "select",
  };
}
