import { expect, test } from "vitest";
import { z } from "zod";
import { defaultConfig } from "../../../control/config.ts";
import type { Principal } from "../../../control/records/principal.ts";
import { Inbox } from "../../../sessions/inbox.ts";
import { openEngine, type TestEngine, testProfile } from "../../../testing/engine-fixture.ts";
import { until } from "../../../testing/until.ts";
import { LocalClientSession } from "../client-session.ts";
import { callTool, type McpCallContext, type McpTool } from "../mcp-tool.ts";
import { getPrompt, instructionsFor, offeredWays } from "../prompts.ts";
import { mcpToolsOf } from "./mcp-tools.ts";
import { delegatingNames, longNames } from "./session-tool.ts";

test("What is known of tools before anything is opened is what they are", async () => {
  await using engine = await openEngine({ model: () => ({ text: "Done" }) });
  const tools = mcpToolsOf(engine);
  const named = (is: (tool: (typeof tools)[number]) => boolean | undefined) =>
    tools.filter(is).map(({ name }) => name);
  expect(named(({ delegates }) => delegates)).toEqual(without(delegatingNames));
  expect(named(({ isLong }) => isLong)).toEqual(without(longNames));
  // Only the shipped reviewer has nothing but tools that read.
  for (const { annotations, delegates, name } of tools) {
    const readOnlyHint = name === "request_review";
    if (delegates) expect(annotations).toMatchObject({ readOnlyHint });
    expect(annotations.readOnlyHint && annotations.destructiveHint).toBe(false);
  }
});

/** The tool of registered agents is offered while there are any. */
function without(names: ReadonlySet<string>): readonly string[] {
  return [...names].filter((name) => name !== "delegate_to_agent");
}

test("A reviewer that a person lets write is not announced as read-only", async () => {
  const reviewer = testProfile("reviewer", { tools: ["read_file", "shell"] });
  await using engine = await openEngine({ model: () => ({ text: "Done" }), profiles: [reviewer] });
  const review = mcpToolsOf(engine).find(({ name }) => name === "request_review");
  expect(review?.annotations).toMatchObject({ readOnlyHint: false, destructiveHint: true });
});

test("With delegation and spawning switched off, no tool that needs them is offered", async () => {
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

const { agents, tools: defaultTools } = defaultConfig;
const spawning = (enabled: boolean | null) => ({
  tools: { ...defaultTools, spawn: { ...defaultTools.spawn, enabled } },
});

test.each([
  ["with delegation alone", spawning(false)],
  [
    "with spawning alone",
    {
      ...spawning(true),
      agents: { delegation: { ...agents.delegation, enabled: false } },
    },
  ],
  ["with both", spawning(null)],
])("Clients are told of no tool that is not offered, %s", async (_how, config) => {
  await using engine = await openEngine({ model: () => ({ text: "Done" }), config });
  const tools = mcpToolsOf(engine);
  const offered = new Set(tools.map(({ name }) => name));
  const prompt = getPrompt(engine, "delegate", { profile: "coder", task: "Do it." });
  const told = [
    instructionsFor(offeredWays(engine.config)),
    JSON.stringify(prompt),
    ...tools.map((tool) => describedTool(tool)),
  ];
  // Profiles may have tools of their own; those that delegate are our own.
  const delegating = [...new Set([...delegatingNames, ...longNames])];
  const missing = delegating.filter(
    (name) => !offered.has(name) && told.some((text) => new RegExp(`\\b${name}\\b`).test(text)),
  );
  expect(missing).toEqual([]);
  expect(offered.has("get_delegation_result")).toBe(true);
});

/** As a client sees it. */
function describedTool({ description, input, output }: McpTool): string {
  return [
    description,
    ...[input, output].map((shape) => JSON.stringify(z.toJSONSchema(shape))),
  ].join("\n");
}

function contextOf(engine: TestEngine, role: Principal["role"]): McpCallContext {
  const principal = { id: "alice", role };
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

test("A viewer uses no tool that changes something, not even on runs of their own", async () => {
  await using engine = await openEngine({
    profiles: [testProfile("asker", { tools: ["ask_user"] })],
    model: ({ messages }) =>
      messages.at(-1)?.role === "user"
        ? { calls: [{ tool: "ask_user", input: { message: "Which one?" } }] }
        : { text: "Done" },
  });
  const tools = mcpToolsOf(engine);
  const toolOf = (wanted: string) => {
    const tool = tools.find(({ name }) => name === wanted);
    if (tool === undefined) throw new Error(`There is no ${wanted}.`);
    return tool;
  };
  const [operator, viewer] = [contextOf(engine, "operator"), contextOf(engine, "viewer")];
  await callTool(toolOf("spawn"), { profile: "asker", task: "Ask" }, operator);
  const inbox = new Inbox(engine.store);
  const [item] = await until("the question is in the inbox", async () => {
    const open = await inbox.open();
    return open.length === 1 && open;
  });
  expect(await viewer.session.runtime.store.findRun(item?.runId ?? "")).toBe(item?.runId);
  const input = { askId: item?.ask?.id ?? "", text: "the left" };
  const changing = tools.filter(({ annotations }) => annotations.destructiveHint);
  expect(changing.map(({ name }) => name)).toEqual([
    ...without(delegatingNames).filter((name) => name !== "request_review"),
    "cancel_delegation",
    "send_message",
    "answer",
  ]);
  for (const tool of [...changing, toolOf("request_review")]) {
    const { isError, text } = await callTool(tool, input, viewer);
    expect({ isError, text }).toEqual({
      isError: true,
      text: `Error: ${tool.name} needs an operator; this access is a viewer's.`,
    });
  }
  // Not by the way they are called alone.
  await expect(toolOf("answer").call(input, viewer)).rejects.toThrow("requires operator access");
  expect(await inbox.open()).toHaveLength(1);
  expect(await callTool(toolOf("answer"), input, operator)).toMatchObject({
    text: `Answered ${input.askId}.`,
  });
  await operator.session.close();
});
