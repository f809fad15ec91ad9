import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { describe, expect, it, onTestFinished } from "vitest";
import { AccessTokens } from "../../../control/access/access-tokens.ts";
import type { Script } from "../../../models/scripted/scripted-model.ts";
import { openEngine, type TestEngine } from "../../../testing/engine-fixture.ts";
import { until } from "../../../testing/until.ts";
import { startServer } from "../../http/serve.ts";
import { postModern, type RawAnswer } from "./raw-client.test-support.ts";
import { serveMandate } from "./serve-mandate.ts";

interface Open {
  readonly url: string;
  tokenOf(name: string): Promise<string>;
  revoke(name: string): Promise<void>;
  close(): Promise<void>;
}

const admin = { id: "admin", role: "admin" } as const;

/** The whole server, with real tokens, on a real socket. */
async function serve(engine: TestEngine): Promise<Open> {
  const workspaces = [engine.workspace];
  const tokens = new AccessTokens(engine.store, `${engine.home}/token`);
  const mcp = serveMandate({ runtime: engine, workspaces });
  const host = { runtime: engine, tokens, workspaces, startedAt: 0 };
  const server = await startServer({
    host,
    port: 0,
    routes: [],
    mcp: mcp.handle,
    log: () => undefined,
  });
  let isOpen = true;
  const close = async (): Promise<void> => {
    if (!isOpen) return;
    isOpen = false;
    await mcp.close();
    await server.close(100);
  };
  onTestFinished(close);
  return {
    url: `${server.url}/mcp`,
    close,
    async tokenOf(name) {
      return (await tokens.create({ name, role: "operator" }, admin)).token;
    },
    async revoke(name) {
      await tokens.revoke(name, admin);
    },
  };
}

async function connect(url: string, token: string, mode: "legacy" | "auto"): Promise<Client> {
  const client = new Client({ name: "desk", version: "1" }, { versionNegotiation: { mode } });
  const headers = { authorization: `Bearer ${token}` };
  await client.connect(
    new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers } }),
  );
  onTestFinished(() => client.close());
  return client;
}

async function call(client: Client, name: string, input: Record<string, unknown>) {
  const result = await client.callTool({ name, arguments: input });
  const [first] = result.content;
  return { ...result, text: first?.type === "text" ? first.text : "" };
}

const answering: Script = () => ({ text: "It is done.", latency_ms: 10 });

describe.each(["legacy", "auto"] as const)("over HTTP, a client of %s", (mode) => {
  it("finds in one request what it spawned in another, and nobody else does", async () => {
    await using engine = await openEngine({ model: answering });
    const { url, tokenOf, close } = await serve(engine);
    const alice = await connect(url, await tokenOf("alice"), mode);
    const bob = await connect(url, await tokenOf("bob"), mode);
    const job = (await call(alice, "spawn", { profile: "researcher", task: "Look" })).text;
    const foreign = await call(bob, "spawn_await", { job_ids: job });
    expect(foreign.structuredContent).toMatchObject({
      jobs: [{ job_id: job, status: "not_found" }],
    });
    const hidden = await call(bob, "get_delegation_result", { delegationId: job });
    expect(hidden.structuredContent).toEqual({ delegation: null });
    const awaited = await call(alice, "spawn_await", { job_ids: job });
    expect(awaited.structuredContent).toMatchObject({
      jobs: [{ job_id: job, status: "ok", result: expect.stringContaining("It is done.") }],
    });
    const { principal } = await engine.store.readContract(job);
    expect(principal).toEqual({ id: "alice", role: "operator" });
    await close();
  });
});

const knowsTasks = { elicitation: {}, extensions: { "io.modelcontextprotocol/tasks": {} } };
const delegate = { name: "delegate_task", arguments: { profile: "researcher", task: "Look" } };

function resultOf({ message }: RawAnswer): Readonly<Record<string, unknown>> {
  expect(message.error).toBeUndefined();
  return message.result ?? {};
}

describe("a task of a delegation", () => {
  it("answers from the log after a restart, to its principal alone", async () => {
    const begun = Promise.withResolvers<void>();
    const script: Script = async ({ messages }) => {
      const isSlow = JSON.stringify(messages).includes("Never");
      if (!isSlow) await begun.promise;
      return { text: "It is done.", ...(isSlow && { latency_ms: 600_000 }) };
    };
    await using engine = await openEngine({ model: script });
    const first = await serve(engine);
    const token = await first.tokenOf("alice");
    const other = await first.tokenOf("bob");
    const begin = async (task: string): Promise<string> => {
      const sent = { url: first.url, token };
      const params = { ...delegate, arguments: { ...delegate.arguments, task } };
      const created = resultOf(await postModern(sent, 1, "tools/call", params, knowsTasks));
      expect(created).toMatchObject({ resultType: "task", status: "working", ttlMs: null });
      expect(created["taskId"]).toMatch(/^delegate_task\.[0-9a-f]{6}$/);
      return String(created["taskId"]);
    };
    const get = (url: string, by: string, taskId: string) =>
      postModern({ url, token: by }, 2, "tasks/get", { taskId }, knowsTasks);
    const done = await begin("Look");
    const cut = await begin("Never");
    begun.resolve();
    const { result: live } = await until("the task completes", async () => {
      const task = resultOf(await get(first.url, token, done));
      return task["status"] === "completed" && task;
    });
    engine.abandon();

    await using second = await engine.another({ model: script });
    const { url, close } = await serve(second);
    const recorded = resultOf(await get(url, token, done));
    expect(recorded).toMatchObject({ taskId: done, status: "completed", ttlMs: null });
    expect(recorded["result"]).toEqual(live);
    expect(live).toMatchObject({
      structuredContent: { status: "completed", result: "It is done." },
    });
    // No process works on it: the task says so, and what a person can do.
    expect(resultOf(await get(url, token, cut))).toMatchObject({
      status: "failed",
      error: { message: expect.stringMatching(/was interrupted.*mandate resume r[0-9a-f]{6}/) },
    });
    // Whose client is gone ends as its contract says; the task tells that, too.
    await second.engine.recover();
    const ended = await until("the task completes", async () => {
      const task = resultOf(await get(url, token, cut));
      return task["status"] === "completed" && task;
    });
    expect(ended["result"]).toMatchObject({ structuredContent: { status: "failed" } });
    expect((await get(url, other, done)).message.error?.code).toBe(-32_602);
    await close();
  });

  it("waits for its client's answer to what an agent asks, and goes on with it", async () => {
    const asker = {
      name: "asker",
      description: "Asks",
      prompt: "You ask.",
      tools: ["ask_user"],
      capabilities: ["subtask" as const],
      origin: "test",
    };
    await using engine = await openEngine({
      profiles: [asker],
      model: ({ messages }) => {
        if (messages.at(-1)?.role === "user") {
          return { calls: [{ tool: "ask_user", input: { message: "Which colour?" } }] };
        }
        return { text: `Heard: ${JSON.stringify(messages.at(-1))}` };
      },
    });
    const { url, tokenOf, close } = await serve(engine);
    const sent = { url, token: await tokenOf("alice") };
    const params = { name: "delegate_task", arguments: { profile: "asker", task: "Ask" } };
    const created = resultOf(await postModern(sent, 1, "tools/call", params, knowsTasks));
    const taskId = String(created["taskId"]);
    const get = (capabilities: object) =>
      postModern(sent, 2, "tasks/get", { taskId }, capabilities);
    const asked = await until("the task asks", async () => {
      const task = resultOf(await get(knowsTasks));
      if (task["status"] !== "input_required") return undefined;
      return task["inputRequests"] as Record<string, { params: { message: string } }>;
    });
    const [[key, request] = []] = Object.entries(asked);
    expect(request?.params.message).toContain("Which colour?");
    const unable = { extensions: knowsTasks.extensions };
    expect(resultOf(await get(unable))).toMatchObject({ status: "working" });
    const inputResponses = { [String(key)]: { action: "accept", content: { answer: "green" } } };
    await postModern(sent, 3, "tasks/update", { taskId, inputResponses }, knowsTasks);
    const done = await until("the task completes", async () => {
      const task = resultOf(await get(knowsTasks));
      return task["status"] === "completed" && task["result"];
    });
    expect(JSON.stringify(done)).toContain("green");
    await close();
  });

  it("is cancelled with the delegation below it", async () => {
    await using engine = await openEngine({
      model: () => ({ text: "Never.", latency_ms: 600_000 }),
    });
    const { url, tokenOf, close } = await serve(engine);
    const sent = { url, token: await tokenOf("alice") };
    const created = resultOf(await postModern(sent, 1, "tools/call", delegate, knowsTasks));
    const taskId = String(created["taskId"]);
    await postModern(sent, 2, "tasks/cancel", { taskId }, knowsTasks);
    const id = taskId.split(".")[1] ?? "";
    const ended = await until("the delegation ends", () => engine.engine.resultOf(id));
    expect(ended).toMatchObject({ status: "cancelled" });
    const after = await postModern(sent, 3, "tasks/get", { taskId }, knowsTasks);
    expect(resultOf(after)).toMatchObject({ status: "cancelled" });
    await close();
  });
});

describe("a client that goes away while it waits for a delegation", () => {
  async function leave(engine: TestEngine, mode: "legacy" | "auto"): Promise<string> {
    const { url, tokenOf } = await serve(engine);
    const client = await connect(url, await tokenOf("alice"), mode);
    const left = client.callTool(delegate).catch((error: Error) => error.name);
    const created = await until("the delegation runs", async () => {
      const [run] = await engine.store.listRuns({ open: true });
      const state = run && (await engine.store.readRun(run.id));
      const child = [...(state?.delegations.values() ?? [])].find(
        ({ parentId }) => parentId !== null,
      );
      return child?.status === "running" && child.id;
    });
    await client.transport?.close();
    await left;
    return created;
  }

  it("has not taken it back in 2025-11-25: it goes on", async () => {
    const isLeft = Promise.withResolvers<void>();
    const model = async () => {
      await isLeft.promise;
      return { text: "It is done." };
    };
    await using engine = await openEngine({ model });
    const id = await leave(engine, "legacy");
    isLeft.resolve();
    const ended = await until("the delegation ends", () => engine.engine.resultOf(id));
    expect(ended).toMatchObject({ status: "completed" });
  });

  it("has taken it back in 2026-07-28: it is cancelled", async () => {
    await using engine = await openEngine({
      model: () => ({ text: "Never.", latency_ms: 600_000 }),
    });
    const id = await leave(engine, "auto");
    const ended = await until("the delegation ends", () => engine.engine.resultOf(id));
    expect(ended).toMatchObject({ status: "cancelled" });
  });
});

describe("a token that is revoked", () => {
  it.each(["legacy", "auto"] as const)(
    "takes what a client of %s has delegated with it",
    async (mode) => {
      await using engine = await openEngine({
        model: () => ({ text: "Never.", latency_ms: 600_000 }),
      });
      const { url, tokenOf, revoke } = await serve(engine);
      const client = await connect(url, await tokenOf("alice"), mode);
      const other = await connect(url, await tokenOf("bob"), mode);
      const job = (await call(client, "spawn", { profile: "researcher", task: "Look" })).text;
      const kept = (await call(other, "spawn", { profile: "researcher", task: "Look" })).text;
      await revoke("alice");
      await until("the job ends", () => engine.engine.resultOf(job));
      await expect(call(client, "list_sub_agents", {})).rejects.toThrow();
      expect(await engine.engine.resultOf(kept)).toBeNull();
      expect((await call(other, "list_sub_agents", {})).text).toContain(kept);
    },
  );
});
