import { describe, expect, it, test } from "vitest";
import { defaultConfig } from "../control/config.ts";
import { watched } from "../delegations/watched.test-support.ts";
import type { ModelRequest } from "../ports/model.ts";
import { shippedTools } from "../tools/shipped-tools.ts";
import { type EngineOptions, openEngine, recording, testProfile } from "./engine-fixture.ts";

const names = [
  ...["analyst", "builder", "coder", "general", "oracle", "orchestrator", "planner"],
  ...["researcher", "reviewer", "summarizer", "writer"],
];

/** Words of everyday language: as tools they stand between backticks. */
const everyday: ReadonlySet<string> = new Set(["glob", "grep", "shell", "search", "interject"]);

const off = { ...defaultConfig.tools, spawn: { enabled: null, explicit_tools: "select" } } as const;

/** What profiles have is no tool of the agent that chooses from them. */
const profilesIn = /<available_spawn_profiles>.*<\/available_spawn_profiles>/s;

/** Everything that a model is shown: prompt, tools and conversation. */
function shownIn({ messages, system, tools }: ModelRequest): string {
  const said = messages.map((message) => JSON.stringify(message)).join("\n");
  return [system.replace(profilesIn, ""), JSON.stringify(tools), said].join("\n");
}

/** Tools that are named in what a model is shown, and that it is not offered. */
function missingIn(requests: readonly ModelRequest[]): readonly string[] {
  // The last turn comes without most of them.
  const offered = new Set(requests.flatMap(({ tools }) => tools.map(({ name }) => name)));
  const shown = requests.map(shownIn).join("\n");
  return [...shippedTools].filter((name) => {
    if (offered.has(name)) return false;
    const word = everyday.has(name) ? `\`${name}\`` : `\\b${name}\\b`;
    return new RegExp(word).test(shown);
  });
}

/** What the model of a profile is shown, as the root of a run. */
async function shownTo(
  profile: string,
  options: EngineOptions = {},
  request: object = {},
): Promise<readonly ModelRequest[]> {
  const { model, seen } = recording(() => "done");
  const limits = { askDeadlineMs: 1 };
  await using mandate = await openEngine({ model, limits, config: { tools: off }, ...options });
  const { workspace } = mandate;
  await mandate.run({ task: "Do it.", profile, workspace, ...request });
  return seen;
}

const ways: readonly (readonly [string, object])[] = [
  ["as it comes", {}],
  ["without a level of delegation", { maxDepth: 0 }],
  ["in a read-only folder", { readOnly: true }],
  ["with few tools", { tools: ["read_file", "complete_task"] }],
];

describe.each(names)("where spawn is not switched on, the shipped profile %s", (name) => {
  it.each(ways)("is told of no tool that it is not offered, %s", async (_how, request) => {
    const seen = await shownTo(name, {}, request);
    expect(seen.length).toBeGreaterThan(0);
    expect(missingIn(seen)).toEqual([]);
  });
});

test("a watcher is told of no tool that it is not offered", async () => {
  const { model, seen } = recording(
    watched(({ caller }) => {
      const isWriting = caller.profile === "writer" && caller.turn < 3;
      return isWriting ? { calls: [{ tool: "list_files", input: {} }] } : "done";
    }, "writer"),
  );
  const limits = { watchIntervalMs: 1 };
  await using mandate = await openEngine({ model, limits, config: { tools: off } });
  const { workspace } = mandate;
  await mandate.run({ task: "Do it.", profile: "writer", watchers: ["pair"], workspace });
  // What it is shown of the session names the tools of that one.
  const asked = seen.filter(({ caller }) => caller.profile === "pair");
  expect(asked.length).toBeGreaterThan(0);
  expect(missingIn(asked.map((one) => ({ ...one, messages: [] })))).toEqual([]);
  expect(asked[0]?.tools.map(({ name }) => name)).toContain("interject");
});

test.each(["general", "orchestrator"])(
  "of the profiles that %s can choose from it is told the tools that these can be given",
  async (name) => {
    const { model, seen } = recording(() => "done");
    await using mandate = await openEngine({ model, config: { tools: off } });
    const { delegationId } = await mandate.run({ task: "Do it.", profile: name });
    const { permissions } = await mandate.store.readContract(delegationId);
    const [block = ""] = profilesIn.exec(seen[0]?.system ?? "") ?? [];
    const told = [...block.matchAll(/Tools: ([a-z_, ]+)\./g)].flatMap(([, tools = ""]) =>
      tools.split(", "),
    );
    expect(told.length).toBeGreaterThan(20);
    const handedOn = permissions.may_delegate?.tools ?? [];
    const isGiven = (tool: string): boolean =>
      handedOn.includes(tool) && mandate.parts.toolbox.get(tool) !== undefined;
    expect(told.filter((tool) => !isGiven(tool))).toEqual([]);
    expect(told).not.toContain("spawn");
  },
);

test("no tool speaks of a tool that is not offered beside it", async () => {
  const environment = { BRAVE_API_KEY: "key" };
  const described: string[] = [];
  for (const tool of shippedTools) {
    const capabilities = ["primary", "orchestrator"] as const;
    const profiles = [testProfile("alone", { tools: [tool], capabilities: [...capabilities] })];
    const config = { tools: { ...off, spawn: { ...off.spawn, enabled: true } } };
    const seen = await shownTo("alone", { profiles, environment, config }).catch(() => []);
    if (seen.some(({ tools }) => tools.length > 0)) described.push(tool);
    expect([tool, missingIn(seen)]).toEqual([tool, []]);
  }
  expect(described).toEqual(expect.arrayContaining(["spawn", "spawn_subagent", "memory_load"]));
  expect(described.length).toBeGreaterThan(20);
});

test("tools that are offered together are explained together", async () => {
  const seen = await shownTo("orchestrator");
  const [first] = seen;
  const spawning = first?.tools.find(({ name }) => name === "spawn_subagent");
  expect(spawning?.description).toMatch(/with get_delegation_result: .*wait_ms waits for the end/);
  expect(first?.system).toMatch(/collect its result with `get_delegation_result`/);
});

test("where spawn is switched on, the agent that has it is told how to use it", async () => {
  const config = { tools: { ...off, spawn: { ...off.spawn, enabled: true } } };
  const seen = await shownTo("orchestrator", { config });
  expect(missingIn(seen)).toEqual([]);
  const [first] = seen;
  expect(first?.tools.map(({ name }) => name)).toContain("spawn");
  expect(first?.tools.find(({ name }) => name === "spawn")?.description).toMatch(
    /wait with spawn_await/,
  );
  expect(first?.system).toMatch(/`spawn` and wait with `spawn_await`/);
});
