import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { z } from "zod";
import type { ProfileFields } from "../../agents/profiles/profile.ts";
import { noExposure } from "../../contracts/exposure.ts";
import { isDistributed, notOffered } from "../../testing/alter-database.test-support.ts";
import { openEngine, testProfile } from "../../testing/engine-fixture.ts";
import { defineTool } from "../../tools/tool.ts";

const rules = (tool: string, action: "allow" | "ask" | "deny" = "deny") => ({
  toolRules: [{ tool, action }],
});

const stock = defineTool({
  name: "stock_level",
  description: "How many there are.",
  effect: "read",
  exposure: noExposure,
  idempotent: true,
  scopes: ["warehouse:read"],
  input: z.strictObject({}),
  execute: () => "12",
});

it("a rule that a slip would make hold for nothing keeps its profile from being started", async () => {
  const profiles = [
    testProfile("slipped", rules("shel")),
    testProfile("meant", rules("read_file")),
    testProfile("elsewhere", rules("browser_take_screenshot")),
    testProfile("served", rules("mcp__shel__*")),
    testProfile("lifted", rules("shel", "allow")),
  ];
  await using mandate = await openEngine({ profiles, model: () => "done" });
  await expect(mandate.run({ task: "go", profile: "slipped" })).rejects.toThrow(
    'A rule of "slipped" is about "shel", and there is no such tool. Did you mean "shell"?',
  );
  for (const profile of ["meant", "elsewhere", "served", "lifted"]) {
    expect((await mandate.run({ task: "go", profile })).result.status).toBe("completed");
  }
});

it("a misspelt tool, scope, skill or reviewer is an error before anything is written", async () => {
  const slips: readonly (readonly [ProfileFields, string])[] = [
    [{ tools: ["read_file", "read_fil"] }, 'tools "read_fil", and there is no such tool'],
    [{ tools: ["stock_levle"] }, 'Did you mean "stock_level"?'],
    [{ tools: ["Grep"] }, 'Did you mean "grep"?'],
    [{ exit: { tools: ["complete_tsk"] } }, 'Did you mean "complete_task"?'],
    [{ mayDelegate: { tools: ["grpe"] } }, 'names under mayDelegate.tools "grpe"'],
    [{ scopes: ["files:raed"] }, 'no such scope. Did you mean "files:read"?'],
    [{ scopes: ["warehouse:reed"] }, 'Did you mean "warehouse:read"?'],
    [{ skills: ["skill:writng"] }, 'Did you mean "writing"?'],
    [{ mayDelegate: { skills: ["writng"] } }, "names under mayDelegate.skills"],
    [{ exit: { review: { profile: "reviwer" } } }, 'Did you mean "reviewer"?'],
    [{ exit: { review: { profile: "nobody" } } }, "no such profile. Correct the profile (test)"],
  ];
  const profiles = slips.map(([fields], index) => testProfile(`slip-${index}`, fields));
  await using mandate = await openEngine({
    ...{ profiles, tools: [stock], trustWorkspace: true },
    model: () => "done",
  });
  writeSkill(mandate.workspace, "writing");
  for (const [index, [, sentence]] of slips.entries()) {
    const started = mandate.run({ task: "go", profile: `slip-${index}` });
    await expect(started, sentence).rejects.toThrow(sentence);
  }
  expect(await mandate.store.listRuns({ limit: 10 })).toEqual([]);
});

it("all slips of a profile are told at once, with where it was read", async () => {
  const profiles = [testProfile("slipped", { tools: ["read_fil", "grpe"] })];
  await using mandate = await openEngine({ profiles, model: () => "done" });
  await expect(mandate.run({ task: "go", profile: "slipped" })).rejects.toThrow(
    'Did you mean "read_file"? "slipped" names under tools "grpe", and there is no such tool. Did you mean "grep"? Correct the profile (test).',
  );
});

it("what exists and is not offered here, or is like nothing here, is no slip", async () => {
  const profiles = [
    // No search service is named, and there is no place for skills.
    testProfile("unoffered", { tools: ["read_file", "web_search", "load_skill", "search"] }),
    testProfile("elsewhere", { tools: ["read_file", "query_warehouse"], scopes: ["warehouse"] }),
    testProfile("served", { tools: ["read_file", "mcp__docs__*"], skills: ["accounting"] }),
  ];
  await using mandate = await openEngine({ profiles, model: () => "done" });
  for (const profile of ["unoffered", "elsewhere"]) {
    const { events, result } = await mandate.run({ task: "go", profile });
    expect(result.status).toBe("completed");
    const created = events.find(({ type }) => type === "agent.subagent_created");
    expect(JSON.stringify(created?.payload)).toContain("dropped");
  }
  expect((await mandate.run({ task: "go", profile: "served" })).result.status).toBe("completed");
});

it("a name that its caller was granted where there are more tools is no slip here", async ({
  skip,
}) => {
  skip(isDistributed, notOffered.tools);
  const profiles = [
    testProfile("lead", {
      tools: ["delegate_task"],
      mayDelegate: { tools: ["stock_level", "read_file"] },
    }),
    testProfile("clerk", { tools: ["stock_level", "read_file"] }),
  ];
  const asked = Promise.withResolvers<void>();
  await using first = await openEngine({
    profiles,
    tools: [stock],
    model: () => {
      asked.resolve();
      return { fault: "hang" };
    },
  });
  const { runId } = await first.start({ task: "go", profile: "lead" });
  await asked.promise;
  first.abandon();
  const second = await first.another({
    profiles,
    tools: [defineTool({ ...stock, name: "stock_levels" })],
    model: ({ caller, messages }) =>
      caller.profile === "lead" && messages.length === 1
        ? { calls: [{ tool: "delegate_task", input: { profile: "clerk", task: "count" } }] }
        : { text: "done" },
  });
  const [recovered] = await second.engine.recover();
  expect(await recovered?.result).toMatchObject({ status: "completed" });
  const events = await second.events(runId);
  expect(events.filter(({ type }) => type === "agent.subagent_created")).toHaveLength(2);
});

it("a file of another program may name what is not known here", async () => {
  await using mandate = await openEngine({ profiles: [], model: () => "done" });
  mkdirSync(join(mandate.workspace, ".claude/agents"), { recursive: true });
  const text = "---\nname: helper\ndescription: d\ntools: Read, read_fiel\n---\nHelp.\n";
  writeFileSync(join(mandate.workspace, ".claude/agents/helper.md"), text);
  await using other = await mandate.another({ trustWorkspace: true, model: () => "done" });
  expect(other.profiles.get("helper")?.tools).toContain("read_fiel");
  expect((await other.run({ task: "go", profile: "helper" })).result.status).toBe("completed");
});

it("a misspelt tool in a person's request is an error, and in a model's it is narrowed", async () => {
  await using mandate = await openEngine({
    profiles: [testProfile("any", { tools: ["read_file", "grep"] })],
    model: () => "done",
  });
  await expect(
    mandate.run({ task: "go", profile: "any", tools: ["grep", "read_fil"] }),
  ).rejects.toThrow('There is no tool "read_fil". Did you mean "read_file"?');
  await expect(mandate.run({ task: "go", profile: "any", tools: ["teleport"] })).rejects.toThrow(
    "(teleport) can be granted: they do not exist here, or its caller may not delegate them.",
  );
});

function writeSkill(workspace: string, name: string): void {
  const folder = join(workspace, ".mandate/skills", name);
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, "SKILL.md"), `---\nname: ${name}\ndescription: d\n---\nBody.\n`);
}
