import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { protocols } from "../../models/wire-protocols.test-support.ts";
import { sendEvents, startWireServer } from "../../models/wire-server.test-support.ts";
import { createMandate } from "../library/mandate.ts";
import { callTool, eras, McpDesk } from "./mcp-desk.test-support.ts";

const model = "anthropic/claude-sonnet-4-5";
const delegation = { profile: "researcher", task: "Say hello" };

async function startProvider() {
  const server = await startWireServer();
  const events = protocols[model]?.({ text: "Hello from the wire" }) ?? [];
  server.answer = (response) => sendEvents(response, events);
  const variables = {
    ANTHROPIC_API_KEY: "key",
    ANTHROPIC_BASE_URL: server.url,
    MANDATE_MODEL: model,
  };
  return { variables, [Symbol.dispose]: () => server.close() };
}

// Playbooks answer for every provider there is, and for none: what is asked for by whom shows here.
test.each(eras)("a client of %s is answered by the provider that is configured", async (era) => {
  using provider = await startProvider();
  await using desk = new McpDesk(provider.variables);
  const settings = join(desk.environment["XDG_CONFIG_HOME"] ?? "", "mandate");
  mkdirSync(settings, { recursive: true });
  // The agent that asks is no model of ours, and no list of ours is about it.
  writeFileSync(join(settings, "config.yaml"), `models:\n  allow: ["anthropic/*"]\n`);
  const client = await desk.connect({ era, isProcess: true });
  const { isError, structuredContent } = await callTool(client, "delegate_task", delegation);
  expect(structuredContent).toMatchObject({ status: "completed", result: "Hello from the wire" });
  expect(isError).not.toBe(true);
});

test("an agent of the AI SDK is answered by the provider that is configured", async () => {
  using provider = await startProvider();
  await using desk = new McpDesk(provider.variables);
  const mandate = await createMandate({
    database: ":memory:",
    environment: desk.environment,
  });
  const { tools } = await mandate.tools({ workspace: desk.workspace });
  expect(await tools["delegate_task"]?.execute(delegation)).toContain("Hello from the wire");
  await mandate.close();
});
