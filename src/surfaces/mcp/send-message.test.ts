import { expect, test } from "vitest";
import type { Principal } from "../../control/records/principal.ts";
import type { StoredEvent } from "../../events/event.ts";
import {
  openEngine,
  recording,
  type TestEngine,
  testProfile,
} from "../../testing/engine-fixture.ts";
import { Hold } from "../../testing/hold-tool.test-support.ts";
import { LocalClientSession } from "./client-session.ts";
import { callTool, type McpCallContext } from "./mcp-tool.ts";
import { mcpToolsOf } from "./tools/mcp-tools.ts";

const operator = (id: string): Principal => ({ id, role: "operator" });

function contextOf(engine: TestEngine, principal: Principal): McpCallContext {
  const folders = [engine.workspace];
  const session = new LocalClientSession({ runtime: engine, principal, client: "desk", folders });
  const { signal } = new AbortController();
  return {
    session,
    signal,
    answerBy: null,
    report: () => undefined,
    onDelegation: () => undefined,
  };
}

function call(engine: TestEngine, name: string, input: object, context: McpCallContext) {
  const tool = mcpToolsOf(engine).find((one) => one.name === name);
  if (tool === undefined) throw new Error(`There is no ${name}.`);
  return callTool(tool, input, context);
}

async function logOf({ store }: TestEngine): Promise<readonly StoredEvent[]> {
  const events: StoredEvent[] = [];
  for await (const event of store.readEvents({})) events.push(event);
  return events;
}

test("A client sends messages to its own sub-agents, and to no others", async () => {
  const hold = new Hold();
  const { seen, model } = recording(({ caller }) =>
    caller.turn === 1 ? { calls: [{ tool: "hold", input: {} }] } : "done",
  );
  await using engine = await openEngine({
    model,
    tools: [hold.tool],
    profiles: [testProfile("worker", { tools: ["hold"] })],
  });
  const own = contextOf(engine, operator("alice"));
  const spawned = { profile: "worker", task: "work" };
  const { text: job } = await call(engine, "spawn", spawned, own);
  await hold.begun;
  const input = { delegationId: job, message: "work for me" };
  // A second client of the same person is another session; a viewer may send nothing.
  const strangers = [
    contextOf(engine, operator("bob")),
    contextOf(engine, operator("alice")),
    contextOf(engine, { id: "ops", role: "operator", allRuns: true }),
  ];
  const before = await logOf(engine);
  for (const context of strangers) {
    expect(await call(engine, "send_message", input, context)).toEqual({
      text: `Error: there is no sub-agent ${job} of yours`,
      isError: true,
    });
  }
  const viewer = contextOf(engine, { id: "vera", role: "viewer" });
  expect((await call(engine, "send_message", input, viewer)).text).toContain("needs an operator");
  // Nothing was written, and no session was opened to say so.
  expect(await logOf(engine)).toEqual(before);
  expect(await call(engine, "send_message", { ...input, message: "look at b" }, own)).toEqual({
    text: `Sent. ${job} reads it before its next turn.`,
    structured: { delegationId: job },
  });
  hold.release();
  await call(engine, "spawn_await", { job_ids: job }, own);
  expect(seen.at(-1)?.messages.at(-1)).toEqual({
    role: "user",
    // No person's words: the client's agent wrote them.
    text: "Message from the agent or program that you work for: look at b",
    from: "caller",
  });
  const late = await call(engine, "send_message", input, own);
  expect(late).toMatchObject({ isError: true, text: expect.stringContaining("has ended") });
  for (const context of [own, viewer, ...strangers]) await context.session.close();
});
