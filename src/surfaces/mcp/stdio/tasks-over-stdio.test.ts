import { expect, test } from "vitest";
import { until } from "../../../testing/until.ts";
import { McpDesk } from "../mcp-desk.test-support.ts";

const playbook = `
version: 1
name: tasks
replies:
  - when: { task: "ask", turn: 1 }
    calls: [{ tool: ask_user, input: { message: "Which colour?" } }]
  - text: "{{last}}"
    latency_ms: 20
`;

const extensions = { "io.modelcontextprotocol/tasks": {} };

const envelope = {
  "io.modelcontextprotocol/protocolVersion": "2026-07-28",
  "io.modelcontextprotocol/clientInfo": { name: "raw", version: "1" },
  "io.modelcontextprotocol/clientCapabilities": { elicitation: { form: {} }, extensions },
};

test("A client that knows tasks has a long delegation as one, questions and all", async () => {
  await using desk = new McpDesk(playbook);
  const server = desk.start();
  let requests = 0;
  const ask = async (method: string, params: object) => {
    const id = ++requests;
    server.send({ id, method, params: { ...params, _meta: envelope } });
    return (await server.next((message) => message.id === id)).result;
  };
  const discovered = await ask("server/discover", {});
  expect(discovered).toMatchObject({ capabilities: { extensions } });
  const input = { profile: "general", task: "ask" };
  const created = await ask("tools/call", { name: "delegate_task", arguments: input });
  expect(created).toMatchObject({ resultType: "task", status: expect.any(String) });
  const { taskId } = created as unknown as { readonly taskId: string };
  const inputRequests = await until("the task asks", async () => {
    const task = await ask("tasks/get", { taskId });
    return task?.["status"] === "input_required" && (task["inputRequests"] as object);
  });
  const [key = ""] = Object.keys(inputRequests);
  const reply = { action: "accept", content: { answer: "blue" } };
  await ask("tasks/update", { taskId, inputResponses: { [key]: reply } });
  const done = await until("the task completes", async () => {
    const task = await ask("tasks/get", { taskId });
    return task?.["status"] === "completed" && task;
  });
  expect(done["result"]).toMatchObject({
    structuredContent: { status: "completed", result: "blue" },
  });
  expect(server.garbage).toEqual([]);
});
