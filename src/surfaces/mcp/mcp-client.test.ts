import { mkdirSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import type { Client } from "@modelcontextprotocol/client";
import { describe, expect, test } from "vitest";
import { ControlPlane } from "../../control/records/control-plane.ts";
import { createRuntime } from "../../runtime.ts";
import { until } from "../../testing/until.ts";
import { callTool, eras, McpDesk } from "./mcp-desk.test-support.ts";

const playbook = `
version: 1
name: mcp
replies:
  - when: { task: "ask", turn: 1 }
    calls: [{ tool: ask_user, input: { message: "Which colour?" } }]
  - when: { task: "ask" }
    text: "It is {{last}}"
  - when: { task: "tree", turn: 1 }
    calls:
      - { tool: delegate_task, input: { profile: researcher, task: "Count the files" } }
      - { tool: delegate_task, input: { profile: researcher, task: "Count the lines" } }
  - when: { task: "slow" }
    text: "Slow and done"
    latency_ms: 60000
  - when: { task: "brief" }
    text: "Brief and done"
  - when: { task: "Count the files" }
    text: "Seven"
    latency_ms: 900
  - when: { task: "Count the lines" }
    text: "Ninety"
    latency_ms: 900
  - text: "I looked into it: {{task}}"
    latency_ms: 20
`;

interface ListedTool {
  readonly inputSchema: { readonly properties?: Record<string, object> };
}

describe.each(eras)("a client of %s", (era) => {
  test("is offered tools with schemas, true annotations and the profiles there are", async () => {
    await using desk = new McpDesk(playbook);
    const client = await desk.connect({ era });
    expect(client.getInstructions()).toMatch(/spawn_await/);
    const { tools } = await client.listTools();
    expect(tools.map(({ name }) => name)).toEqual([
      "delegate_task",
      "spawn",
      "spawn_subagent",
      "run_workflow",
      "request_review",
      "spawn_await",
      "list_profiles",
      "list_sub_agents",
      "get_delegation_result",
      "cancel_delegation",
      "send_message",
      "peek_result",
      "search_result",
      "slice_result",
      "read_inbox",
      "answer",
    ]);
    for (const tool of tools) {
      expect(tool.inputSchema.type).toBe("object");
      expect(tool.outputSchema?.["type"]).toBe("object");
      expect(Object.keys(tool.annotations ?? {}).sort()).toEqual([
        "destructiveHint",
        "idempotentHint",
        "openWorldHint",
        "readOnlyHint",
        "title",
      ]);
    }
    const [delegate, spawn] = tools as readonly ListedTool[];
    for (const tool of [delegate, spawn]) {
      // Clients that check an enum refuse other names without naming the known ones.
      expect(tool?.inputSchema.properties?.["profile"]).toEqual({
        type: "string",
        description: expect.stringContaining("researcher"),
      });
    }
    expect(tools[0]).toMatchObject({
      description: expect.stringContaining("50 seconds"),
      annotations: { readOnlyHint: false, destructiveHint: true, openWorldHint: true },
    });
    const readers = tools.filter(({ annotations }) => annotations?.readOnlyHint);
    expect(readers.map(({ name }) => name)).toEqual([
      "request_review",
      "list_profiles",
      "list_sub_agents",
      "get_delegation_result",
      "peek_result",
      "search_result",
      "slice_result",
    ]);
    // Who only looks around leaves no run behind.
    expect((await callTool(client, "list_sub_agents", {})).structuredContent).toEqual({
      subAgents: [],
    });
    expect(await desk.withStore((store) => store.listRuns({}))).toEqual([]);
  });

  test("delegates, hears how it goes, and gets the result whole in both places", async () => {
    await using desk = new McpDesk(playbook);
    const client = await desk.connect({ era, isProcess: true });
    const heard = progressOn(client);
    const input = { profile: "general", task: "tree" };
    const result = await callTool(client, "delegate_task", input, { onprogress: () => undefined });
    expect(result.structuredContent).toMatchObject({
      profile: "general",
      status: "completed",
      result: "I looked into it: tree",
      subDelegations: [{ profile: "researcher" }, { profile: "researcher" }],
    });
    expect(JSON.parse(result.text)).toEqual(result.structuredContent);
    const steps = heard.map(({ progress }) => progress);
    expect(steps.length).toBeGreaterThan(2);
    expect(steps).toEqual([...new Set(steps)].sort((one, other) => one - other));
    // How much is left is not known, so no total is given that clients would show as a percentage.
    expect(heard.filter((one) => "total" in one)).toEqual([]);
    expect(heard.map(({ message }) => message).join("\n")).toMatch(/waits for 2 of 2.*0 of 2/);
    expect(heard.at(-1)).toMatchObject({
      message: expect.stringMatching(/^general \w+: done · 2 of 2 children done · [\d,]+ tokens$/),
    });
  });

  test("spawns, waits for a bounded time, and comes back for what still runs", async () => {
    await using desk = new McpDesk(playbook);
    const mayReply = Promise.withResolvers<void>();
    const client = await desk.connect({ era, replyAfter: mayReply.promise });
    const spawned = await callTool(client, "spawn", { profile: "researcher", task: "brief" });
    const id = spawned.text;
    expect(spawned.structuredContent).toMatchObject({ job_id: id });
    const early = await callTool(client, "spawn_await", { job_ids: "*", max_wait_ms: 50 });
    expect(early.text).toBe(`[${id}: RUNNING] Call spawn_await again to wait for it.`);
    expect(early.structuredContent).toEqual({
      jobs: [{ job_id: id, status: "running" }],
      running: 1,
    });
    mayReply.resolve();
    const late = await callTool(client, "spawn_await", { job_ids: [id, "ffffff"] });
    expect(late.text).toBe(`[${id}: OK]\nBrief and done\n\n[ffffff: NOT FOUND]`);
    expect(late.structuredContent).toEqual({
      jobs: [
        { job_id: id, status: "ok", result: "Brief and done" },
        { job_id: "ffffff", status: "not_found" },
      ],
      running: 0,
    });
    const found = await callTool(client, "get_delegation_result", { delegationId: id });
    expect(found.structuredContent).toMatchObject({ delegation: { result: "Brief and done" } });
    const peeked = await callTool(client, "peek_result", { delegationId: id });
    expect(peeked.text).toContain("Brief and done");
  });

  test("may fill in what it could leave out, with nothing", async () => {
    await using desk = new McpDesk(playbook);
    const client = await desk.connect({ era });
    const input = { profile: "general", task: "Brief", context: "", timeout: null, workspace: "" };
    const { isError, structuredContent } = await callTool(client, "delegate_task", input);
    expect({ isError, structuredContent }).toMatchObject({
      isError: undefined,
      structuredContent: { status: "completed", profile: "general" },
    });
    expect(
      (await callTool(client, "spawn", { task: "Brief", profile: null, tools: "" })).text,
    ).toMatch(/^[0-9a-f]{6,}$/);
  });

  test("reads in a result what it did wrong", async () => {
    await using desk = new McpDesk(playbook);
    const client = await desk.connect({ era });
    const wrong = async (name: string, input: Record<string, unknown>) => {
      const { isError, structuredContent, text } = await callTool(client, name, input);
      expect({ isError, structuredContent }).toEqual({ isError: true });
      return text;
    };
    expect(await wrong("spawn", {})).toBe("Error: task is required");
    const unknown = /^Error: unknown profile 'nobody' Known: .*general/;
    expect(await wrong("spawn", { task: "x", profile: "nobody" })).toMatch(unknown);
    expect(await wrong("delegate_task", { profile: "nobody", task: "x" })).toMatch(unknown);
    expect(await wrong("peek_result", { delegationId: "ffffff" })).toBe(
      "Error: there is no result of ffffff: you have no sub-agent ffffff",
    );
    expect(await wrong("delegate_task", { profile: "general", task: "x", shell: 1 })).toMatch(
      /shell/,
    );
    expect(await wrong("answer", { askId: "q000000", text: "x" })).toMatch(/no question q000000/);
    expect(await wrong("answer", { askId: 7 })).toBe(
      'Error: askId: expected string, received number; missing parameter "text"',
    );
    const misspelt = { profile: "general", task: "x", maxTokns: 1 };
    expect(await wrong("delegate_task", misspelt)).toBe(
      'The arguments of delegate_task do not fit: unknown parameter "maxTokns"; did you mean "maxTokens"?',
    );
    expect(
      await wrong("delegate_task", { profile: "general", task: "x", workspace: "/etc" }),
    ).toMatch(/is not in the client's folders/);
    await expect(callTool(client, "shell", {})).rejects.toMatchObject({ code: -32_602 });
  });

  test("takes a call back, and what that delegated is cancelled", async () => {
    await using desk = new McpDesk(playbook);
    const client = await desk.connect({ era });
    const control = new AbortController();
    const input = { profile: "researcher", task: "slow" };
    const call = callTool(client, "delegate_task", input, {
      signal: control.signal,
      onprogress: ({ message }) => message?.includes("model") && control.abort(),
    });
    await expect(call).rejects.toThrow();
    const closed = await until("the delegation closes", async () => {
      const { structuredContent, text } = await callTool(client, "list_sub_agents", {});
      return text.includes("closed") && structuredContent;
    });
    expect(closed).toMatchObject({
      subAgents: [{ status: "closed", closeReason: "cancelled" }],
    });
  });

  test("puts a sub-agent's question before its person", async () => {
    await using desk = new McpDesk(playbook);
    const asked: string[] = [];
    const client = await desk.connect({
      era,
      capabilities: { elicitation: {} },
      reply(message) {
        asked.push(message);
        return { action: "accept", content: { answer: "blue" } };
      },
    });
    const result = await callTool(client, "delegate_task", { profile: "general", task: "ask" });
    expect(result.structuredContent).toMatchObject({ result: "It is blue" });
    expect(asked).toHaveLength(1);
    expect(asked[0]).toMatch(/^The sub-agent general \w+ asks \(.* left\):\n\nWhich colour\?$/);
  });

  test("leaves a question that its person declines to the inbox and its deadline", async () => {
    await using desk = new McpDesk(playbook);
    let asked = 0;
    const client = await desk.connect({
      era,
      limits: { askDeadlineMs: 2000, askDefault: "grey" },
      capabilities: { elicitation: { form: {} } },
      reply: () => ({ action: ++asked > 0 ? "decline" : "cancel" }),
    });
    // What is loaded with the first call shall not count as time to answer.
    await callTool(client, "list_sub_agents", {});
    const call = callTool(client, "delegate_task", { profile: "general", task: "ask" });
    const open = await until("the question is in the inbox", () => firstOpen(client));
    expect(open).toMatchObject({ kind: "ask", isOpen: true });
    expect((await call).structuredContent).toMatchObject({
      result: expect.stringMatching(/the default is: grey$/),
    });
    expect(asked).toBe(1);
  });

  test("that cannot ask its person answers from the inbox", async () => {
    await using desk = new McpDesk(playbook);
    const client = await desk.connect({ era });
    await callTool(client, "spawn", { profile: "general", task: "ask" });
    const { askId } = await until("the question is in the inbox", () => firstOpen(client));
    const answered = await callTool(client, "answer", { askId, text: "green" });
    expect(answered.structuredContent).toEqual({ accepted: true });
    expect((await callTool(client, "spawn_await", { job_ids: "*" })).text).toMatch(/It is green/);
    const again = await callTool(client, "answer", { askId, text: "red" });
    expect(again).toMatchObject({ isError: true });
  });

  test("without its person's consent is served, and has no work done in a folder", async () => {
    await using desk = new McpDesk(playbook);
    const client = await desk.connect({ era, isProcess: true, isWithoutConsent: true });
    expect((await client.listTools()).tools.length).toBeGreaterThan(0);
    expect(await callTool(client, "list_sub_agents", {})).not.toHaveProperty("isError");
    const input = { profile: "researcher", task: "look" };
    const refused = await callTool(client, "delegate_task", input);
    expect(refused).toMatchObject({ isError: true });
    expect(refused.text).toContain(`Work in "${desk.workspace}" needs your consent first.`);
    expect(await desk.withStore((store) => store.listRuns({}))).toEqual([]);
    // The person answers in a terminal meanwhile: the next call finds it.
    await desk.withStore((store) => {
      const plane = new ControlPlane({ store, profiles: { has: () => false } });
      const owner = process.getuid?.() ?? null;
      const by = { id: "local", role: "operator" } as const;
      return plane.consent({ folder: desk.workspace, mode: "read-only", owner }, by);
    });
    expect(await callTool(client, "delegate_task", input)).not.toHaveProperty("isError");
  });

  test("has work done in its roots, and nowhere else", async () => {
    await using desk = new McpDesk(playbook);
    const [first, second, inner] = ["first", "second", "first/inner"].map((name) =>
      join(desk.root, name),
    ) as [string, string, string];
    for (const folder of [first, second, inner]) mkdirSync(folder);
    symlinkSync("/etc", join(first, "out"));
    const roots = [join(desk.root, "missing"), first, second];
    const client = await desk.connect({
      era,
      capabilities: { roots: { listChanged: true } },
      roots: () => roots,
    });
    const delegateIn = (workspace?: string) =>
      callTool(client, "delegate_task", {
        profile: "researcher",
        task: "look",
        ...(workspace !== undefined && { workspace }),
      });
    for (const folder of [undefined, second, inner]) {
      expect(await delegateIn(folder)).not.toHaveProperty("isError");
    }
    for (const folder of [desk.workspace, desk.root, join(first, "out"), `${second}-evil`, "../.."])
      expect(await delegateIn(folder)).toMatchObject({ isError: true });
    const runs = await desk.withStore((store) => store.listRuns({}));
    expect(runs.map(({ workspace }) => workspace).sort()).toEqual([first, inner, second]);
    const listed = await callTool(client, "list_sub_agents", {});
    expect(listed.structuredContent).toMatchObject({ subAgents: { length: 3 } });
    const jobs = [];
    for (const workspace of [first, second]) {
      const input = { profile: "researcher", task: "look", workspace };
      jobs.push((await callTool(client, "spawn", input)).text);
    }
    const awaited = await callTool(client, "spawn_await", { job_ids: `${jobs.join(",")},ffffff` });
    expect(awaited.structuredContent).toMatchObject({
      jobs: expect.arrayContaining(
        jobs.map((job_id) => expect.objectContaining({ job_id, status: "ok" })),
      ),
      running: 0,
    });
    expect((await callTool(client, "spawn_await", { job_ids: "*" })).text).toBe("No jobs found.");
  });

  test("never gets wider than the folder that the server was given", async () => {
    await using desk = new McpDesk(playbook);
    const client = await desk.connect({
      era,
      workspace: desk.workspace,
      capabilities: { roots: {} },
      roots: () => [desk.root],
    });
    await callTool(client, "delegate_task", { profile: "researcher", task: "look" });
    const [run] = await desk.withStore((store) => store.listRuns({}));
    expect(run).toMatchObject({ workspace: desk.workspace, task: "Session of desk" });
  });

  test("finds profiles as prompts, with their names completed", async () => {
    await using desk = new McpDesk(playbook);
    const client = await desk.connect({ era });
    const { prompts } = await client.listPrompts();
    expect(prompts.find(({ name }) => name === "researcher")?.arguments).toEqual([
      { name: "task", description: "The task.", required: true },
    ]);
    const { messages } = await client.getPrompt({
      name: "researcher",
      arguments: { task: "Look at the harbour" },
    });
    expect(messages[0]).toMatchObject({
      role: "user",
      content: { text: expect.stringMatching(/"researcher"[\s\S]*Look at the harbour/) },
    });
    await expect(client.getPrompt({ name: "nobody", arguments: {} })).rejects.toMatchObject({
      code: -32_602,
    });
    const { completion } = await client.complete({
      ref: { type: "ref/prompt", name: "delegate" },
      argument: { name: "profile", value: "resea" },
    });
    expect(completion.values).toEqual(["researcher"]);
  });

  test("reads what it delegated as resources, and nothing that is not there", async () => {
    await using desk = new McpDesk(playbook);
    const client = await desk.connect({ era });
    const done = await callTool(client, "delegate_task", { profile: "researcher", task: "look" });
    const id = (done.structuredContent as { delegationId: string }).delegationId;
    const { resources } = await client.listResources();
    expect(resources.map(({ uri }) => uri)).toEqual([
      "mandate://profiles",
      `mandate://delegations/${id}/result`,
      `mandate://delegations/${id}/transcript`,
      expect.stringMatching(/^mandate:\/\/runs\/r/),
    ]);
    const { resourceTemplates } = await client.listResourceTemplates();
    expect(resourceTemplates).toHaveLength(6);
    const read = async (uri: string) => {
      const { contents } = await client.readResource({ uri });
      return (contents[0] as { text: string }).text;
    };
    expect(JSON.parse(await read(`mandate://delegations/${id}/result`))).toMatchObject({
      status: "completed",
    });
    expect(await read(`mandate://delegations/${id}/report`)).toBe("I looked into it: look");
    expect(await read(`mandate://delegations/${id}/transcript`)).toMatch(/I looked into it/);
    expect(await read(`mandate://delegations/${id}/events`)).toMatch(/agent\.subagent_created/);
    expect(JSON.parse(await read(resources[3]?.uri ?? ""))).toMatchObject({
      delegations: { length: 2 },
    });
    for (const uri of [
      "mandate://runs/r000000",
      "mandate://delegations/000000/result",
      `mandate://delegations/${id}/secrets`,
      `mandate://artifacts/${"0".repeat(64)}`,
      "file:///etc/passwd",
      "mandate://runs/..%2f..",
    ])
      await expect(read(uri)).rejects.toMatchObject({ code: -32_602, data: { uri } });
  });
});

test("A client of 2025-11-25 is told when a resource that it listens to moves", async () => {
  await using desk = new McpDesk(playbook);
  const mayReply = Promise.withResolvers<void>();
  const client = await desk.connect({ era: "2025-11-25", replyAfter: mayReply.promise });
  const updated: string[] = [];
  let lists = 0;
  client.setNotificationHandler("notifications/resources/updated", ({ params }) => {
    updated.push(params.uri);
  });
  client.setNotificationHandler("notifications/resources/list_changed", () => {
    lists++;
  });
  const { text: id } = await callTool(client, "spawn", { profile: "researcher", task: "brief" });
  const uri = `mandate://delegations/${id}/result`;
  await client.subscribeResource({ uri });
  await expect(client.subscribeResource({ uri: "mandate://runs/r000000" })).rejects.toThrow();
  mayReply.resolve();
  await callTool(client, "spawn_await", { job_ids: id });
  await until("news of the resource and of the list", () => updated.length > 0 && lists > 0);
  expect(new Set(updated)).toEqual(new Set([uri]));
  await client.unsubscribeResource({ uri });
});

test("What a client of 2025-11-25 takes out of its roots is out of reach for later work", async () => {
  await using desk = new McpDesk(playbook);
  let roots = [desk.workspace];
  const client = await desk.connect({
    era: "2025-11-25",
    capabilities: { roots: { listChanged: true } },
    roots: () => roots,
  });
  const input = { profile: "researcher", task: "look" };
  await callTool(client, "delegate_task", input);
  roots = [];
  await client.sendRootsListChanged();
  const named = await callTool(client, "delegate_task", { ...input, workspace: desk.workspace });
  expect(named).toMatchObject({ isError: true });
  await callTool(client, "delegate_task", input);
  const runs = await desk.withStore((store) => store.listRuns({}));
  expect(runs.map(({ workspace }) => workspace).sort()).toEqual([desk.workspace, null]);
});

test("A client of 2026-07-28 hears of the resources that its stream asked for", async () => {
  await using desk = new McpDesk(playbook);
  const mayReply = Promise.withResolvers<void>();
  const client = await desk.connect({ era: "2026-07-28", replyAfter: mayReply.promise });
  const updated: string[] = [];
  client.setNotificationHandler("notifications/resources/updated", ({ params }) => {
    updated.push(params.uri);
  });
  const spawn = () => callTool(client, "spawn", { profile: "researcher", task: "brief" });
  const [{ text: id }, { text: other }] = [await spawn(), await spawn()];
  const uri = `mandate://delegations/${id}/result`;
  const stream = await client.listen({ resourceSubscriptions: [uri] });
  mayReply.resolve();
  await callTool(client, "spawn_await", { job_ids: `${id},${other}` });
  await until("news of the resource", () => updated.length > 0);
  expect(new Set(updated)).toEqual(new Set([uri]));
  await stream.close();
});

test("A client whose run somebody cancelled goes on in a new one", async () => {
  await using desk = new McpDesk(playbook);
  const client = await desk.connect({ era: "2025-11-25" });
  const input = { profile: "researcher", task: "look" };
  const first = await callTool(client, "delegate_task", input);
  const [run] = await desk.withStore((store) => store.listRuns({}));
  await using another = await openRuntime(desk);
  expect(await another.engine.cancel(run?.id ?? "", "enough")).toBe("cancelled");
  const second = await callTool(client, "delegate_task", input);
  expect(second.structuredContent).toMatchObject({ status: "completed" });
  expect(await desk.withStore((store) => store.listRuns({}))).toHaveLength(2);
  // What was done before stays retrievable.
  const { delegationId } = first.structuredContent as { delegationId: string };
  const found = await callTool(client, "get_delegation_result", { delegationId });
  expect(found.structuredContent).toMatchObject({ delegation: { status: "completed" } });
});

interface OpenItem {
  readonly kind: string;
  readonly isOpen: boolean;
  readonly askId: string;
}

async function firstOpen(client: Client): Promise<OpenItem | undefined> {
  const { structuredContent } = await callTool(client, "read_inbox", { keep: true });
  return (structuredContent as { readonly open: readonly OpenItem[] }).open[0];
}

async function openRuntime({ environment, workspace }: McpDesk) {
  const runtime = await createRuntime({ consent: "named", environment, cwd: workspace });
  return { engine: runtime.engine, [Symbol.asyncDispose]: () => runtime.close() };
}

interface Progress {
  readonly progress: number;
  readonly message?: string;
}

/** As it comes over the wire: what comes with the result in one piece, the client drops. */
function progressOn({ transport }: Awaited<ReturnType<McpDesk["connect"]>>): readonly Progress[] {
  const heard: Progress[] = [];
  const hear = transport?.onmessage;
  if (transport === undefined || hear === undefined) throw new Error("It is not connected.");
  transport.onmessage = (message, extra) => {
    if ("method" in message && message.method === "notifications/progress") {
      heard.push(message.params as unknown as Progress);
    }
    hear(message, extra);
  };
  return heard;
}
