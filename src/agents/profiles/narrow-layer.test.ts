import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { includes, isSubset, type Selection } from "../../contracts/selection.ts";
import { cases } from "../../testing/cases.test-support.ts";
import { narrowLayer } from "./narrow-layer.ts";
import type { Profile, ProfileFields } from "./profile.ts";
import { mergeLayers, type ProfileLayer } from "./profile-layer.ts";

const tried = cases(1_000);

const maybe = <Value>(value: fc.Arbitrary<Value>): fc.Arbitrary<Value | undefined> =>
  fc.option(value, { nil: undefined });
const selection = (...names: readonly string[]): fc.Arbitrary<Selection> =>
  fc.oneof(fc.constant("*" as const), fc.subarray([...names]));
const tools = ["read_file", "write_file", "shell", "delegate_task", "mcp__a__*", "mcp__a__one"];
const tool = selection(...tools);
const names = selection("a", "b", "c");
const amount = fc.integer({ min: 1, max: 100 });
const model = fc.constantFrom("p/one", "p/two", "q/three");
const folder = fc.constantFrom("src", "src/a", "test", ".", "docs");
const texts = fc.constantFrom("x", "y");

/** Every field of a profile, said or left out. */
const fields = fc
  .record({
    title: maybe(texts),
    description: maybe(texts),
    prompt: maybe(texts),
    opening: maybe(texts),
    systemPromptFile: maybe(fc.constantFrom("ROLE.md", "secret.txt")),
    bootstrapFiles: maybe(fc.subarray(["AGENTS.md", "HOUSE.md", "secret.txt"])),
    capabilities: maybe(
      fc.subarray(["primary", "subtask", "watcher", "orchestrator"] as const, { minLength: 1 }),
    ),
    model: maybe(
      fc.record({
        model: maybe(model),
        pool: maybe(fc.constantFrom("fast", "smart")),
        fallbacks: maybe(fc.array(model, { maxLength: 2 })),
        allow: maybe(fc.array(model, { maxLength: 2 })),
        contextWindow: maybe(amount),
        maxOutputTokens: maybe(amount),
        temperature: maybe(fc.constantFrom(0, 1)),
        topP: maybe(fc.constantFrom(0, 1)),
        effort: maybe(fc.constantFrom("low" as const, "high" as const)),
      }),
    ),
    tools: maybe(tool),
    toolRules: maybe(
      fc.array(
        fc.record({
          tool: fc.constantFrom("*", ...tools),
          action: fc.constantFrom("allow" as const, "ask" as const, "deny" as const),
        }),
        { maxLength: 3 },
      ),
    ),
    skills: maybe(names),
    mcpServers: maybe(names),
    servers: maybe(
      fc.dictionary(
        fc.constantFrom("a", "b"),
        fc.record({ kind: fc.constant("stdio" as const), command: fc.constantFrom("one", "two") }),
      ),
    ),
    scopes: maybe(names),
    network: maybe(names),
    waysOut: maybe(names),
    mayDelegate: maybe(
      fc.record({
        tools: maybe(tool),
        skills: maybe(names),
        mcpServers: maybe(names),
        models: maybe(selection("p/one", "p/two")),
        scopes: maybe(names),
        network: maybe(names),
        waysOut: maybe(names),
      }),
    ),
    workspace: maybe(
      fc.record({
        isolation: maybe(fc.constantFrom("shared" as const, "sandbox" as const, "custom" as const)),
        folder: maybe(folder),
        allowWrites: maybe(fc.boolean()),
        writeRoots: maybe(fc.array(folder, { maxLength: 2 })),
        checks: maybe(fc.subarray(["npm test", "make"])),
        approval: maybe(fc.boolean()),
      }),
    ),
    limits: maybe(
      fc.record({
        tokens: maybe(amount),
        cost: maybe(amount),
        timeoutMs: maybe(amount),
        depth: maybe(amount),
        retries: maybe(amount),
        turns: maybe(amount),
        joinTokens: maybe(amount),
      }),
    ),
    triggers: maybe(
      fc.record({
        slash: maybe(fc.subarray(["one", "two"])),
        hotkeys: maybe(fc.subarray(["ctrl+o", "ctrl+p"])),
      }),
    ),
    exit: maybe(
      fc.record({
        tools: maybe(fc.subarray(["complete_task", "ask_user"])),
        outputSchema: maybe(fc.constant({ type: "object" })),
        evidence: maybe(fc.constantFrom("none" as const, "tool_calls" as const, "files" as const)),
        review: maybe(fc.record({ profile: texts, rounds: maybe(amount) })),
      }),
    ),
    onParentInterrupt: maybe(
      fc.constantFrom("cancel" as const, "pause" as const, "continue" as const),
    ),
    hidden: maybe(fc.boolean()),
    disabled: maybe(fc.boolean()),
    metadata: maybe(fc.constant({ color: "red" })),
  })
  // What is left out of a file is no key of it.
  .map((said) => JSON.parse(JSON.stringify(said)) as ProfileFields);

const usual: ProfileFields = {
  limits: { tokens: 50, timeoutMs: 60, retries: 1, joinTokens: 8 },
  model: { maxOutputTokens: 20 },
};
const layer = (said: ProfileFields, more: Partial<ProfileLayer> = {}): ProfileLayer => ({
  name: "a",
  fields: said,
  origin: "own",
  ...more,
});
const ofProject = (said: ProfileFields, more: Partial<ProfileLayer> = {}): ProfileLayer =>
  layer(said, { isProjects: true, origin: "project", ...more });
const whole = (said: ProfileFields): ProfileFields => ({ description: "d", prompt: "p", ...said });

/** Where `with` allows more than `without`, in other words than those of the code. */
function* excesses(merged: Profile, own: Profile): Generator<string> {
  const lists = ["tools", "skills", "mcpServers", "scopes", "network", "waysOut"] as const;
  for (const key of lists) {
    const [inner, outer] = [merged[key], own[key]];
    if (outer !== undefined && (inner === undefined || !isSubset(inner, outer))) yield key;
  }
  for (const key of [...lists, "models"] as const) {
    const [inner, said] = [merged.mayDelegate?.[key], own.mayDelegate?.[key]];
    const outer = said ?? (key === "models" ? undefined : own[key]);
    if (inner !== undefined && outer !== undefined && !isSubset(inner, outer)) {
      yield `mayDelegate.${key}`;
    }
    if (said !== undefined && inner === undefined) yield `mayDelegate.${key} is gone`;
  }
  const amounts = [
    "tokens",
    "cost",
    "timeoutMs",
    "depth",
    "retries",
    "turns",
    "joinTokens",
  ] as const;
  for (const key of amounts) {
    const most = own.limits?.[key] ?? usual.limits?.[key];
    const least = merged.limits?.[key];
    if (most !== undefined && least !== undefined && least > most) yield `limits.${key}`;
    if (own.limits?.[key] !== undefined && least === undefined) yield `limits.${key} is gone`;
  }
  const { allow = [], fallbacks = [], model: chosen } = own.model ?? {};
  const policy = [...(chosen === undefined ? [] : [chosen]), ...fallbacks, ...allow];
  const { allow: wide = [], fallbacks: next = [], model: first, pool } = merged.model ?? {};
  for (const each of [...(first === undefined ? [] : [first]), ...next, ...wide]) {
    if (!policy.includes(each)) yield `model ${each}`;
  }
  if (pool !== own.model?.pool && first === undefined) yield "pool";
  const output = own.model?.maxOutputTokens ?? 20;
  if ((merged.model?.maxOutputTokens ?? 0) > output) yield "maxOutputTokens";
  if (own.model?.effort === "low" && merged.model?.effort === "high") yield "effort";
  for (const [name, server] of Object.entries(merged.servers ?? {})) {
    if (JSON.stringify(own.servers?.[name]) !== JSON.stringify(server)) yield `server ${name}`;
  }
  if (merged.systemPromptFile !== own.systemPromptFile) yield "systemPromptFile";
  const files = own.bootstrapFiles ?? ["AGENTS.md", "ENVIRONMENT.md"];
  if ((merged.bootstrapFiles ?? []).some((file) => !files.includes(file))) yield "bootstrapFiles";
  if (merged.capabilities.some((each) => !own.capabilities.includes(each))) yield "capabilities";
  if (JSON.stringify(merged.toolRules) !== JSON.stringify(own.toolRules)) yield "toolRules";
  yield* placeExcesses(merged, own);
  for (const kind of ["slash", "hotkeys"] as const) {
    const known: readonly string[] = own.triggers?.[kind] ?? [];
    if ((merged.triggers?.[kind] ?? []).some((each) => !known.includes(each))) yield kind;
  }
  const order = ["none", "tool_calls", "files"];
  const proof = (profile: Profile) => order.indexOf(profile.exit?.evidence ?? "none");
  if (proof(merged) < proof(own)) yield "evidence";
  if (own.exit?.outputSchema && !merged.exit?.outputSchema) yield "outputSchema";
  if (JSON.stringify(merged.exit?.review) !== JSON.stringify(own.exit?.review)) yield "review";
  const exits = own.exit?.tools ?? [];
  const ends = merged.exit?.tools ?? [];
  if (exits.length > 0 && (ends.length === 0 || ends.some((each) => !exits.includes(each)))) {
    yield "exit.tools";
  }
  const lives = ["cancel", "pause", "continue"];
  const life = (profile: Profile) => lives.indexOf(profile.onParentInterrupt ?? "cancel");
  if (life(merged) > life(own)) yield "onParentInterrupt";
  if (own.hidden && !merged.hidden) yield "hidden";
  if (own.disabled && !merged.disabled) yield "disabled";
}

function* placeExcesses(merged: Profile, own: Profile): Generator<string> {
  const [now, before] = [merged.workspace ?? {}, own.workspace ?? {}];
  if (before.allowWrites === false && now.allowWrites !== false) yield "allowWrites";
  if (before.approval === true && now.approval !== true) yield "approval";
  if ((before.checks ?? []).some((check) => !now.checks?.includes(check))) yield "checks";
  const below = (path: string, root: string): boolean =>
    root === "." || path === root || path.startsWith(`${root}/`);
  if (before.writeRoots !== undefined) {
    const roots = before.writeRoots;
    const isWithin = (path: string): boolean => roots.some((root) => below(path, root));
    if (!(now.writeRoots ?? ["."]).every(isWithin)) yield "writeRoots";
  }
  // A folder is of use with "custom" alone.
  const isSame = now.isolation === before.isolation;
  if (isSame && (now.isolation !== "custom" || now.folder === before.folder)) return;
  const isCopy = now.isolation === "sandbox" && before.isolation !== "custom";
  const isPart = now.isolation === "custom" && now.folder !== undefined;
  const from =
    before.isolation === "shared" ||
    (before.isolation === "custom" && below(now.folder ?? "", before.folder ?? "?"));
  if (!isCopy && !(isPart && from)) yield `isolation ${before.isolation} to ${now.isolation}`;
}

describe("a project's layer of a profile that is not the project's", () => {
  test("never yields more than the profile has without it, in any field", () => {
    const all = fc.record({ own: fields, later: fields, project: fields, other: fields });
    fc.assert(
      fc.property(all, fc.boolean(), ({ own, later, project, other }, replaces) => {
        const [first, second] = [layer(whole(own)), layer(later)];
        const theirs = [ofProject(project, { replaces }), ofProject(other)];
        const without = mergeLayers([first, second], usual);
        const merged = mergeLayers([first, ...theirs, second], usual);
        expect([...excesses(merged, without)]).toEqual([]);
      }),
      { numRuns: tried },
    );
  });

  test("has a rule for every field, and says of each what was cut", () => {
    fc.assert(
      fc.property(fields, fields, (own, project) => {
        const { cut, fields: kept } = narrowLayer(whole(own), project);
        for (const key of Object.keys(project) as (keyof ProfileFields)[]) {
          if (project[key] === undefined || key === "toolRules") continue;
          const isSame = JSON.stringify(kept[key]) === JSON.stringify(project[key]);
          const isTold = cut.some(({ field }) => field === key || field.startsWith(`${key}.`));
          const isEmpty = JSON.stringify(project[key]) === "{}";
          expect(isSame || isTold || isEmpty, key).toBe(true);
        }
      }),
      { numRuns: tried },
    );
  });

  test("changes its texts, and narrows the rest", () => {
    const own = whole({
      tools: ["read_file", "shell"],
      limits: { cost: 5 },
      toolRules: [{ tool: "read_file", match: "secret*", action: "deny" }],
    });
    const project = {
      description: "theirs",
      prompt: "Do it their way.",
      tools: ["read_file", "write_file"],
      limits: { cost: 3, tokens: 10 },
      toolRules: [{ tool: "*", action: "allow" as const }],
    };
    const merged = mergeLayers([layer(own), ofProject(project)], usual);
    expect(merged).toMatchObject({
      description: "theirs",
      prompt: "Do it their way.",
      tools: ["read_file"],
      limits: { cost: 3, tokens: 10 },
      toolRules: own.toolRules,
      addedRules: [project.toolRules],
    });
    expect(merged.project?.cut).toEqual([
      {
        field: "tools",
        asked: ["read_file", "write_file"],
        kept: ["read_file"],
        origin: "project",
      },
    ]);
    expect(merged.project?.own).toMatchObject({ description: "d", tools: ["read_file", "shell"] });
  });

  test("is merged as it is where the person only says what differs from it", () => {
    const person = layer({ limits: { tokens: 7 } });
    const merged = mergeLayers([person, ofProject(whole({ tools: "*", limits: { tokens: 90 } }))]);
    expect(merged).toMatchObject({ tools: "*", limits: { tokens: 7 } });
    expect(includes(merged.tools ?? [], "shell")).toBe(true);
  });
});
