import { mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { defaultConfig } from "../control/config.ts";
import type { NewEvent } from "../events/event.ts";
import { upcast } from "../events/upcast.ts";
import { openEngine } from "../testing/engine-fixture.ts";
import { shippedScopes, shippedTools } from "./shipped-tools.ts";
import { startedTool, type Tool } from "./tool.ts";

test("the list of what is shipped is that of the tools with everything switched on", async () => {
  await using mandate = await openEngine({ model: () => "done" });
  mkdirSync(join(mandate.workspace, ".mandate/skills"), { recursive: true });
  const { tools } = defaultConfig;
  const whole = await mandate.another({
    model: () => "done",
    environment: { SEARXNG_URL: "http://127.0.0.1:1" },
    config: { tools: { ...tools, shell: { ...tools.shell, enabled: true, unsandboxed: true } } },
  });
  const { toolbox } = whole.parts;
  expect([...shippedTools].sort()).toEqual([...toolbox.names].sort());
  const scopes = new Set(toolbox.names.flatMap((name) => toolbox.get(name)?.scopes ?? []));
  expect([...shippedScopes].sort()).toEqual([...scopes].sort());
});

test("of the tools of earlier versions the log says what their definitions say now", async () => {
  await using mandate = await openEngine({ model: () => "done" });
  const { toolbox } = mandate.parts;
  for (const name of toolbox.names) {
    const tool = toolbox.get(name) as Tool;
    const about = { call_id: "c", tool: name };
    const old = { type: "agent.tool_started", payload: about } as unknown as NewEvent;
    const { changes, joins, ...now } = startedTool(tool);
    // In earlier versions it gave what there was, and did not wait for more.
    const hasJoined = joins && name !== "get_delegation_result";
    expect(upcast(old).payload).toEqual({
      ...about,
      ...now,
      ...(hasJoined && { joins }),
      changes: expect.stringMatching(new RegExp(`^(?:any|${changes})$`)),
    });
  }
});

test("the reference tells of every tool and every scope", () => {
  const file = join(import.meta.dirname, "../../docs/reference/tools.md");
  const text = readFileSync(file, "utf8");
  const untold = [...shippedTools, ...shippedScopes].filter(
    (name) => !text.includes(`\`${name}\``),
  );
  expect(untold).toEqual([]);
});
