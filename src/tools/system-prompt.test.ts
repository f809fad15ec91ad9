import { countTokens } from "gpt-tokenizer/encoding/o200k_base";
import { expect, test } from "vitest";
import type { Skill } from "../agents/skills/skill.ts";
import { openEngine, recording, testProfile } from "../testing/engine-fixture.ts";
import { systemPrompt } from "./system-prompt.ts";

const description = "Works on one part of the product, in the way that it is worked on. ".repeat(4);

test("With 2,500 profiles and 2,500 skills the first prompt is below a tenth of the window, and lists what fits the task", async () => {
  const { model, seen } = recording(() => "Done");
  const parts = Array.from({ length: 2500 }, (_, at) => testProfile(`part-${at}`, { description }));
  const pilot = testProfile("pilot", { description: "Guides ships through narrow channels." });
  await using mandate = await openEngine({ model, profiles: [...parts, pilot] });
  const task = "Guide the ship out of the harbour";
  await mandate.run({ task, profile: "general" });
  const { system = "", tools = [] } = seen[0] ?? {};
  expect(system).toContain('<profile name="pilot">');
  expect(system).toMatch(/\n {2}2\d{3} more are not listed\. list_profiles finds them\.\n/);
  expect(JSON.stringify(tools)).not.toContain("part-1234");
  const skill = { description, folder: "/", origin: "test" };
  const skills: Skill[] = parts.map(({ name }) => ({ ...skill, name }));
  const toolbox = { spawning: new Set<string>(), get: () => ({ choosesFrom: "skills" }) };
  const from = { ...mandate.parts, toolbox, skills: { all: () => skills } };
  const granted = { canSpawn: false, mayUse: { tools: ["load_skill"], skills: "*" }, model: "x/y" };
  const prompt = { profile: pilot, granted, task, workspace: null, own: undefined, onFile() {} };
  const list = systemPrompt(from as never, prompt as never);
  expect(list).toMatch(/\n {2}2\d{3} more are not listed\. load_skill with query finds them\.\n/);
  const texts = [system, JSON.stringify(tools), list, task];
  expect(texts.reduce((sum, text) => sum + countTokens(text), 0)).toBeLessThan(20_000);
});
