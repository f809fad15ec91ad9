import { expect, test } from "vitest";
import { openEngine } from "../../../testing/engine-fixture.ts";
import { mcpToolsOf } from "./mcp-tools.ts";
import { delegatingNames, longNames } from "./tool-names.ts";

test("What is known of tools before anything is opened is what they are", async () => {
  await using engine = await openEngine({ model: () => ({ text: "Done" }) });
  const tools = mcpToolsOf(engine);
  const named = (is: (tool: (typeof tools)[number]) => boolean | undefined) =>
    tools.filter(is).map(({ name }) => name);
  expect(named(({ delegates }) => delegates)).toEqual([...delegatingNames]);
  expect(named(({ isLong }) => isLong)).toEqual([...longNames]);
  // Whoever may have others write or execute says so.
  for (const { annotations, delegates } of tools) {
    if (delegates)
      expect(annotations).toMatchObject({ readOnlyHint: false, destructiveHint: true });
    if (annotations.readOnlyHint) expect(annotations.destructiveHint).toBe(false);
  }
});

test("With delegation and spawning switched off, no tool that needs them is offered", async () => {
  const { defaultConfig } = await import("../../../control/config.ts");
  const { agents, tools } = defaultConfig;
  await using engine = await openEngine({
    model: () => ({ text: "Done" }),
    config: {
      agents: { delegation: { ...agents.delegation, enabled: false } },
      tools: { ...tools, spawn: { ...tools.spawn, enabled: false } },
    },
  });
  expect(mcpToolsOf(engine).map(({ name }) => name)).toEqual(["read_inbox", "answer"]);
});
