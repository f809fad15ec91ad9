import { once } from "node:events";
import { expect, test } from "vitest";
import { until } from "../../../testing/until.ts";
import { McpDesk, type RawMessage, type RawServer } from "../mcp-desk.test-support.ts";
import { beginCall, playbook } from "./ending.test-support.ts";

const patience = { timeout: 60_000 };
const modes = ["cancel", "pause", "continue"] as const;
/** Its replies take ten minutes, and less than one with this. */
const soon = ["--speed", "100000"];

function openDesk(mode: (typeof modes)[number]): McpDesk {
  const desk = new McpDesk(playbook);
  const head = `---\ndescription: Works\nonParentInterrupt: ${mode}\n---\n`;
  desk.addProfile("worker", `${head}You work.\n`);
  return desk;
}

let requests = 100;

async function ask(server: RawServer, method: string, params: object): Promise<RawMessage> {
  const id = ++requests;
  server.send({ id, method, params });
  return server.next((message) => message.id === id);
}

async function call(server: RawServer, name: string, input: object = {}) {
  const { result } = await ask(server, "tools/call", { name, arguments: input });
  return result as { readonly structuredContent: object; readonly isError?: boolean };
}

async function kill({ child }: RawServer): Promise<void> {
  child.kill("SIGKILL");
  await once(child, "exit");
}

async function begin(desk: McpDesk): Promise<RawServer> {
  const server = desk.start();
  await server.initialize();
  return server;
}

interface Listed {
  readonly delegationId: string;
  readonly runId: string;
  readonly status: string;
  readonly resume?: string;
}

async function list(server: RawServer): Promise<readonly Listed[]> {
  const { structuredContent } = await call(server, "list_sub_agents");
  return (structuredContent as { readonly subAgents: readonly Listed[] }).subAgents;
}

test.each(modes)(
  "What a killed server left is listed as interrupted and resumed by the shown command (%s)",
  patience,
  async (mode) => {
    await using desk = openDesk(mode);
    const server = desk.start();
    await beginCall(server, "worker");
    await kill(server);

    const next = await begin(desk);
    const [cut, ...rest] = await list(next);
    expect(rest).toEqual([]);
    const { delegationId = "", resume = "", runId = "" } = cut ?? {};
    expect(cut).toMatchObject({ status: "interrupted", resume: `mandate resume ${runId}` });
    const inbox = await call(next, "read_inbox");
    expect(inbox.structuredContent).toMatchObject({ interrupted: [{ delegationId, resume }] });
    const early = await call(next, "get_delegation_result", { delegationId, wait_ms: 45_000 });
    expect(early).toMatchObject({ isError: true });
    expect(JSON.stringify(early)).toContain(resume);

    // A process that resumes it is killed as well: the next one continues.
    const first = desk.begin(["resume", runId]);
    await until("the run is worked on", async () => (await list(next))[0]?.status === "running");
    first.kill("SIGKILL");
    await once(first, "exit");
    await until("it is interrupted", async () => (await list(next))[0]?.status === "interrupted");
    const command = resume.split(" ").slice(1);
    expect(await desk.type([...command, ...soon])).toMatchObject({ code: 0, out: "Done\n" });

    const result = await call(next, "get_delegation_result", { delegationId });
    expect(result.structuredContent).toMatchObject({
      delegation: { status: "completed", result: "Done", tokenUsage: { estimated: true } },
    });
    expect(await list(next)).toMatchObject([{ delegationId, status: "closed" }]);
    const again = await desk.type(command);
    expect(again).toMatchObject({ code: 1, err: expect.stringContaining("have completed") });
  },
);

test(
  "Two servers of one client see each other's sub-agents, and a live one is not resumed",
  patience,
  async () => {
    await using desk = openDesk("pause");
    const first = desk.start();
    await beginCall(first, "worker");
    const second = await begin(desk);
    const [seen] = await list(second);
    expect(seen).toMatchObject({ status: "running" });
    const runId = seen?.runId ?? "";
    const busy = await desk.type(["resume", runId]);
    expect(busy).toMatchObject({ code: 1, err: expect.stringContaining("which has not ended") });
    await kill(second);
    const third = await begin(desk);
    expect(await list(third)).toMatchObject([{ status: "running" }]);
    await kill(first);
    expect(await list(third)).toMatchObject([{ status: "interrupted" }]);
    expect((await desk.type(["cancel", runId])).code).toBe(0);
    expect(await list(third)).toMatchObject([{ status: "closed", outcome: "cancelled" }]);
  },
);

const extensions = { "io.modelcontextprotocol/tasks": {} };
const _meta = {
  "io.modelcontextprotocol/protocolVersion": "2026-07-28",
  "io.modelcontextprotocol/clientInfo": { name: "raw", version: "1" },
  "io.modelcontextprotocol/clientCapabilities": { extensions },
};

test(
  "A task of a killed server is not working any more, and has its result once it was resumed",
  patience,
  async () => {
    await using desk = openDesk("cancel");
    const server = desk.start();
    const params = { name: "delegate_task", arguments: { profile: "worker", task: "x" }, _meta };
    const { taskId } = ((await ask(server, "tools/call", params)).result ?? {}) as {
      taskId: string;
    };
    expect(taskId).toMatch(/^delegate_task\./);
    const stateIn = async (one: RawServer) =>
      (await ask(one, "tasks/get", { taskId, _meta })).result;
    expect(await stateIn(server)).toMatchObject({ status: "working" });
    await kill(server);
    const next = desk.start();
    const failed = await stateIn(next);
    expect(failed).toMatchObject({ status: "failed" });
    const listing = { name: "list_sub_agents", arguments: {}, _meta };
    expect((await ask(next, "tools/call", listing)).result).toMatchObject({
      structuredContent: { subAgents: [{ status: "interrupted" }] },
    });
    const [, run = ""] = /mandate resume (r[0-9a-f]+)/.exec(JSON.stringify(failed)) ?? [];
    expect((await desk.type(["resume", run, ...soon])).code).toBe(0);
    expect(await stateIn(next)).toMatchObject({
      status: "completed",
      result: { content: [{ text: expect.stringContaining("Done") }] },
    });
  },
);
