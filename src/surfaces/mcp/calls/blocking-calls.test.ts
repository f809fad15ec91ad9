import { expect, test } from "vitest";
import { ControlPlane } from "../../../control/records/control-plane.ts";
import { openEngine, testProfile } from "../../../testing/engine-fixture.ts";
import { ManualClock } from "../../../testing/manual-clock.ts";
import { until } from "../../../testing/until.ts";
import { LocalClientSession } from "../client-session.ts";
import { callTool, eras, McpDesk } from "../mcp-desk.test-support.ts";
import { callTool as callDirectly } from "../mcp-tool.ts";
import { mcpToolsOf } from "../tools/mcp-tools.ts";

const playbook = `
version: 1
name: blocking
replies:
  - when: { task: "Review", turn: 1 }
    calls: [{ tool: glob, input: { pattern: "*" } }]
  - when: { task: "ask", turn: 1 }
    calls: [{ tool: ask_user, input: { message: "Which colour?" } }]
  - when: { task: "ask" }
    text: "It is {{last}}"
  - text: "It is done"
`;

const calls = [
  ["delegate_task", { profile: "researcher", task: "look" }],
  ["spawn_subagent", { agentId: "researcher", prompt: "look" }],
  ["request_review", { paths: ["a.txt"] }],
  ["delegate_to_agent", { agentId: "@finder", task_instructions: "look" }],
] as const;

async function openDesk(): Promise<McpDesk> {
  const desk = new McpDesk(playbook);
  await desk.withStore((store) => {
    const plane = new ControlPlane({ store, profiles: { has: () => true } });
    const by = { id: "local", role: "operator" } as const;
    return plane.register(
      { agentId: "@finder", profileId: "researcher", description: "Finds" },
      by,
    );
  });
  return desk;
}

test.each(eras)(
  "A blocking call of a client of %s is answered after 50 seconds, and its work continues",
  async (era) => {
    await using desk = await openDesk();
    const clock = new ManualClock();
    const mayReply = Promise.withResolvers<void>();
    const client = await desk.connect({ era, clock, replyAfter: mayReply.promise });
    const answered: string[] = [];
    const calling = calls.map(async ([tool, input]) => {
      const result = await callTool(client, tool, input);
      answered.push(tool);
      return result;
    });
    const listed = async () => {
      const { structuredContent } = await callTool(client, "list_sub_agents", {});
      return (structuredContent as { readonly subAgents: readonly object[] }).subAgents;
    };
    await until("all are delegated", async () => (await listed()).length === calls.length);
    await clock.advance(49_999);
    await listed();
    expect(answered).toEqual([]);
    await clock.advance(1);
    const results = await Promise.all(calling);
    const ids = results.map(({ text }) => /[0-9a-f]{6,8}/.exec(text)?.[0] ?? "");
    expect(new Set(ids).size).toBe(calls.length);
    for (const [index, { isError, structuredContent, text }] of results.entries()) {
      const id = ids[index] ?? "";
      expect(isError).toBeUndefined();
      expect(structuredContent).toMatchObject({ status: "running" });
      expect(JSON.stringify(structuredContent)).toContain(id);
      expect(text).toContain("get_delegation_result");
    }
    mayReply.resolve();
    for (const delegationId of ids) {
      const input = { delegationId, wait_ms: 45_000 };
      const { structuredContent } = await callTool(client, "get_delegation_result", input);
      expect(structuredContent).toMatchObject({ delegation: { result: "It is done" } });
    }
    await client.close();
    const next = await desk.connect({ era });
    for (const delegationId of ids) {
      const { text } = await callTool(next, "get_delegation_result", { delegationId });
      expect(text).toContain("It is done");
    }
  },
);

test.each(eras)("A client of %s that sent a progress token waits for the end", async (era) => {
  await using desk = await openDesk();
  const clock = new ManualClock();
  const mayReply = Promise.withResolvers<void>();
  const client = await desk.connect({ era, clock, replyAfter: mayReply.promise });
  const reports: number[] = [];
  const options = { onprogress: ({ progress }: { progress: number }) => reports.push(progress) };
  const calling = callTool(client, ...calls[0], options);
  await until("it is delegated", async () => {
    await clock.advance(250);
    return reports.length > 0;
  });
  // The call continues to wait, and says so every ten seconds.
  for (let span = 0; span < 9; span++) {
    const before = reports.length;
    await clock.advance(10_000);
    await until("a report", () => reports.length > before);
  }
  mayReply.resolve();
  expect((await calling).structuredContent).toMatchObject({ status: "completed" });
});

test.each(eras)("No wait that a client of %s asks for is longer than clients wait", async (era) => {
  await using desk = await openDesk();
  const clock = new ManualClock();
  const mayReply = Promise.withResolvers<void>();
  const client = await desk.connect({ era, clock, replyAfter: mayReply.promise });
  const { text: id } = await callTool(client, "spawn", { profile: "researcher", task: "look" });
  const before = clock.waiting;
  const waiting = [
    callTool(client, "spawn_await", { job_ids: id, max_wait_ms: 3_600_000 }),
    callTool(client, "get_delegation_result", { delegationId: id, wait_ms: 3_600_000 }),
  ];
  // Each of them has its own time, and that of the whole call.
  await until("both wait", () => clock.waiting >= before + 4);
  await clock.advance(45_000);
  const [jobs, result] = await Promise.all(waiting);
  expect(jobs?.structuredContent).toMatchObject({ running: 1 });
  expect(result?.structuredContent).toEqual({ delegation: null });
  mayReply.resolve();
  const done = await callTool(client, "spawn_await", { job_ids: id });
  expect(done.text).toBe(`[${id}: OK]\nIt is done`);
});

test.each(eras)(
  "A question stays before the person of %s after the call was answered",
  async (era) => {
    await using desk = await openDesk();
    const clock = new ManualClock();
    const mayAnswer = Promise.withResolvers<void>();
    let asked = 0;
    const client = await desk.connect({
      era,
      clock,
      capabilities: { elicitation: {} },
      async reply() {
        asked++;
        await mayAnswer.promise;
        return { action: "accept", content: { answer: "blue" } };
      },
    });
    const calling = callTool(client, "delegate_task", { profile: "general", task: "ask" });
    await until("the person is asked", () => asked === 1);
    await clock.advance(50_000);
    // A client of 2026-07-28 returns to the call with the reply.
    if (era === "2026-07-28") mayAnswer.resolve();
    const { structuredContent } = await calling;
    expect(structuredContent).toMatchObject({ status: "running" });
    mayAnswer.resolve();
    const { delegationId } = structuredContent as { readonly delegationId: string };
    const input = { delegationId, wait_ms: 45_000 };
    const done = await callTool(client, "get_delegation_result", input);
    expect(done.structuredContent).toMatchObject({ delegation: { result: "It is blue" } });
    expect(asked).toBe(1);
  },
);

test("A client that leaves after such an answer leaves nothing running", async () => {
  await using desk = await openDesk();
  const clock = new ManualClock();
  const never = new Promise<void>(() => undefined);
  const client = await desk.connect({ era: "2025-11-25", clock, replyAfter: never });
  const calling = callTool(client, ...calls[0]);
  await until("it is delegated", async () => {
    return (await callTool(client, "list_sub_agents", {})).text !== "[]";
  });
  await clock.advance(50_000);
  const { delegationId } = (await calling).structuredContent as { readonly delegationId: string };
  await client.close();
  const closed = await until("it is closed", () =>
    desk.withStore(async (store) => {
      const run = await store.readRun((await store.findRun(delegationId)) ?? "");
      const one = run?.delegations.get(delegationId);
      return one?.status === "closed" && one;
    }),
  );
  expect(closed).toMatchObject({ closeReason: "parent_closed" });
  const next = await desk.connect({ era: "2025-11-25" });
  expect((await callTool(next, "list_sub_agents", {})).structuredContent).toMatchObject({
    subAgents: [
      { delegationId, outcome: "failed", resume: expect.stringMatching(/^mandate resume r/) },
    ],
  });
});

test("A call that could start nothing in time says so, and starts it later", async () => {
  const clock = new ManualClock();
  const mayStart = Promise.withResolvers<void>();
  let isHeld = false;
  await using engine = await openEngine({
    clock,
    profiles: [testProfile("looker", { tools: [] })],
    model: () => ({ text: "It is done" }),
    middleware: [
      {
        async call(_context, next) {
          isHeld = true;
          await mayStart.promise;
          return next();
        },
      },
    ],
  });
  const principal = { id: "alice", role: "operator" } as const;
  const folders = [engine.workspace];
  const session = new LocalClientSession({ runtime: engine, principal, client: "desk", folders });
  const tool = mcpToolsOf(engine).find(({ name }) => name === "delegate_task");
  if (tool === undefined) throw new Error("There is no delegate_task.");
  const calling = callDirectly(
    tool,
    { profile: "looker", task: "look" },
    {
      ...{ session, answerBy: clock.monotonic() + 50_000 },
      ...{ signal: new AbortController().signal, report: () => undefined },
      onDelegation: () => undefined,
    },
  );
  await until("the call waits", () => isHeld);
  await clock.advance(50_000);
  expect(await calling).toMatchObject({
    isError: true,
    text: expect.stringContaining("do not repeat it"),
  });
  mayStart.resolve();
  const [run] = session.sessions;
  await until("it is done", async () => {
    const state = await engine.store.readRun(run?.runId ?? "");
    const children = [...(state?.delegations.values() ?? [])].filter(({ parentId }) => parentId);
    return children.length === 1 && children[0]?.status === "closed";
  });
  await session.close();
});
