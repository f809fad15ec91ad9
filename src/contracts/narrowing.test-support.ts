import fc from "fast-check";
import type { Authority } from "./authority.ts";
import type {
  Ceiling,
  EntryClaims,
  Granted,
  Narrowing,
  NarrowingRules,
  ProfileClaims,
  RequestClaims,
} from "./narrow.ts";
import type { Selection } from "./selection.ts";
import type { ToolRule } from "./tool-rule.ts";

/** Names that exist, and names that somebody may ask for although they do not. */
export const tools = [
  ...["read_file", "write_file", "shell", "delegate_task", "spawn"],
  ...["mcp__a__one", "mcp__a__*", "mcp__b__*"],
] as const;
/** What the caller above all others holds: every tool of every server is in it. */
const allTools = ["read_file", "write_file", "shell", "delegate_task", "spawn", "mcp__*"];
const names = ["a", "b", "c", "d"] as const;
const strangers = ["", "*", "READ_FILE", "read_file ", "__proto__", "constructor", "rеad_file"];
const models = ["p/one", "p/two", "q/three"] as const;
const folders = ["/", "/w", "/w/a", "/w/a/b", "/w/ab", "/w/../etc", "/w/a/", "w", "", "/tmp"];

// Mostly sensible, so that most of what is asked for is granted, and never only that.
const listOf = (known: readonly string[]): fc.Arbitrary<readonly string[]> =>
  fc.array(fc.constantFrom(...known, ...known, ...known, ...strangers), { maxLength: 6 });
const selectionOf = (known: readonly string[], ofAll = 1): fc.Arbitrary<Selection> =>
  fc.oneof(
    { weight: ofAll, arbitrary: fc.constant("*" as const) },
    { weight: 4, arbitrary: listOf(known) },
  );
const actions = fc.constantFrom("allow" as const, "ask" as const, "deny" as const);
const maybe = <Value>(value: fc.Arbitrary<Value>): fc.Arbitrary<Value | undefined> =>
  fc.option(value, { nil: undefined });
const oddAmount = fc.oneof(
  fc.integer({ min: -10, max: 10 }),
  fc.constantFrom(0, 0.5, -1, Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, 1e15),
);
const amountTo = (most: number): fc.Arbitrary<number> =>
  fc.oneof({ weight: 12, arbitrary: fc.integer({ min: 1, max: most }) }, oddAmount);

const rule: fc.Arbitrary<ToolRule> = fc.oneof(
  fc.record({ tool: fc.constantFrom("*", ...tools), action: actions }),
  fc.record({ tool: fc.constantFrom(...tools), match: fc.constant("x*"), action: actions }),
);
const ruleSet: fc.Arbitrary<readonly ToolRule[]> = fc.array(rule, { maxLength: 3 });

const authority = (toolList: fc.Arbitrary<Selection>): fc.Arbitrary<Authority> =>
  fc.record({
    tools: toolList,
    skills: selectionOf(names),
    mcp_servers: selectionOf(names),
    models: selectionOf(models, 30),
    scopes: selectionOf(names),
    write_roots: listOf(folders),
    network: selectionOf(names),
    ways_out: selectionOf(names),
    rules: fc.array(ruleSet, { maxLength: 2 }),
  });

/** What an operator holds: a written-out list of tools, and whole numbers. */
export const ceilings: fc.Arbitrary<Ceiling> = fc.record({
  authority: authority(fc.subarray(allTools, { minLength: 2 })),
  depth: fc.integer({ min: 1, max: 6 }),
  tokens: fc.integer({ min: 1, max: 100_000 }),
  cost: fc.option(fc.integer({ min: 0, max: 9 })),
  timeMs: fc.integer({ min: 1, max: 100_000 }),
});

const profiles: fc.Arbitrary<ProfileClaims> = fc.record({
  name: fc.constant("child"),
  tools: maybe(selectionOf(tools)),
  skills: maybe(selectionOf(names)),
  // One that nobody knows is refused, so most of them are known.
  mcp_servers: maybe(
    fc.oneof({ weight: 8, arbitrary: fc.subarray([...names]) }, selectionOf(names)),
  ),
  scopes: maybe(selectionOf(names)),
  network: maybe(selectionOf(names)),
  ways_out: maybe(selectionOf(names)),
  write_roots: maybe(listOf(folders)),
  rules: maybe(ruleSet),
  ownServers: maybe(fc.subarray(["own", "other"])),
  model: fc.constantFrom(...models),
  fallbacks: maybe(listOf(models)),
  modelAllow: maybe(listOf(models)),
  mayDelegate: maybe(fc.oneof(authority(selectionOf(tools)), fc.constant({ tools: "*" as const }))),
  tokens: maybe(amountTo(100_000)),
  cost: maybe(fc.integer({ min: 0, max: 9 })),
  timeMs: maybe(amountTo(100_000)),
  depth: maybe(amountTo(6)),
});

const entries: fc.Arbitrary<EntryClaims> = fc.record(
  {
    defaultForwardSkills: listOf(names),
    allowedForwardSkills: listOf(names),
    defaultMcpServers: listOf(names),
    allowedMcpServers: listOf(names),
  },
  { requiredKeys: [] },
);

const requests: fc.Arbitrary<RequestClaims> = fc.record({
  tools: maybe(listOf(tools)),
  // Refused when none of them is left, so most forward none.
  forwardSkills: fc.oneof({ weight: 4, arbitrary: fc.constant(undefined) }, listOf(names)),
  modelOverride: maybe(fc.constantFrom(...models, "x/unknown", "")),
  tokens: maybe(amountTo(100_000)),
  // With none to hand on it is refused, so most ask for none in particular.
  cost: fc.oneof({ weight: 9, arbitrary: fc.constant(undefined) }, fc.double({ min: -1, max: 9 })),
  timeMs: maybe(amountTo(100_000)),
  depth: maybe(amountTo(6)),
});

const rules: fc.Arbitrary<NarrowingRules> = fc.record({
  maxDepth: fc.integer({ min: 0, max: 5 }),
  defaultTokens: fc.integer({ min: 1, max: 50_000 }),
  maxTokens: fc.integer({ min: 1, max: 100_000 }),
  defaultTimeMs: fc.integer({ min: 1, max: 100_000 }),
  allowsModel: fc.constantFrom(
    () => true,
    (name: string) => name !== "p/two",
  ),
  spawningTools: fc.constant(new Set(["delegate_task", "spawn"])),
  servers: fc.constant([...names, "READ_FILE", "constructor"]),
  serverPattern: fc.constant((server: string) => `mcp__${server}__*`),
  explicitTools: fc.constantFrom("select", "override"),
});

/** Everything but the ceiling, which comes from the level above. */
export const askings: fc.Arbitrary<Omit<Narrowing, "ceiling">> = fc.record({
  profile: profiles,
  entry: maybe(entries),
  request: requests,
  rules,
  mayNest: fc.boolean(),
  inheritsSpawning: fc.boolean(),
  hasPrice: fc.constantFrom(
    () => true,
    (name: string) => name !== "p/two",
  ),
});

/** What the holder of a grant has for handing on. */
export function ceilingBelow(granted: Granted): Ceiling {
  return {
    authority: granted.mayDelegate ?? granted.mayUse,
    depth: granted.depth,
    tokens: granted.tokens,
    cost: granted.cost,
    timeMs: granted.timeMs,
  };
}
