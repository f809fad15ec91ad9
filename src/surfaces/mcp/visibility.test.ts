import { expect, test } from "vitest";
import type { Principal } from "../../control/records/principal.ts";
import type { Script } from "../../models/scripted/scripted-model.ts";
import { askIdOf, hexOf, runIdOf } from "../../ports/identity.ts";
import { Inbox } from "../../sessions/inbox.ts";
import { openEngine, type TestEngine, testProfile } from "../../testing/engine-fixture.ts";
import { ManualClock } from "../../testing/manual-clock.ts";
import { until } from "../../testing/until.ts";
import { LocalClientSession } from "./client-session.ts";
import { callTool, type McpCallContext, type McpTool } from "./mcp-tool.ts";
import {
  delegationParts,
  delegationUri,
  listResources,
  readResource,
  runUri,
} from "./resources/serve-resources.ts";
import { delegationTasks } from "./tasks/delegation-tasks.ts";
import { mcpToolsOf } from "./tools/mcp-tools.ts";

const secrets = ["the lost lighthouse", "the flooded harbour", "in the chapel"] as const;

const script: Script = ({ caller, messages }) => {
  if (caller.profile === "asker" && messages.at(-1)?.role === "user") {
    return { calls: [{ tool: "ask_user", input: { message: `Is it ${secrets[1]}?` } }] };
  }
  return { text: caller.profile === "plain" ? "nothing special" : secrets[2] };
};

const profiles = [
  testProfile("keeper", { tools: [] }),
  testProfile("asker", { tools: ["ask_user"] }),
  testProfile("plain", { tools: [] }),
];

const alice: Principal = { id: "alice", role: "operator" };
const bob: Principal = { id: "bob", role: "operator" };
const ops: Principal = { id: "ops", role: "operator", allRuns: true };
const vera: Principal = { id: "vera", role: "viewer" };

interface Ids {
  readonly runId: string;
  readonly done: string;
  readonly asking: string;
  readonly askId: string;
}

/** Ids of the right form that no store has given out. */
const ghosts: Ids = {
  runId: runIdOf(16_000_001),
  done: hexOf(16_000_002),
  asking: hexOf(16_000_003),
  askId: askIdOf(16_000_004),
};

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

/** One job of alice's that is done, and one that waits for an answer. */
async function delegate(engine: TestEngine, context: McpCallContext): Promise<Ids> {
  const tool = toolOf(engine, "spawn");
  const done = await callTool(tool, { profile: "keeper", task: `find ${secrets[0]}` }, context);
  const asking = await callTool(tool, { profile: "asker", task: "ask" }, context);
  await callTool(toolOf(engine, "spawn_await"), { job_ids: done.text }, context);
  const inbox = new Inbox(engine.store);
  const [item] = await until("the question is in the inbox", async () => {
    const open = await inbox.open();
    return open.length === 1 && open;
  });
  const runId = item?.runId ?? "";
  return { runId, done: done.text, asking: asking.text, askId: item?.ask?.id ?? "" };
}

function toolOf(engine: TestEngine, wanted: string): McpTool {
  const tool = mcpToolsOf(engine).find(({ name }) => name === wanted);
  if (tool === undefined) throw new Error(`There is no ${wanted}.`);
  return tool;
}

/** Every tool that takes an id, with an id that is alice's or nobody's. */
const inputs: Readonly<Record<string, (ids: Ids) => object>> = {
  spawn_await: ({ asking, done }) => ({ job_ids: `${done},${asking}`, max_wait_ms: 1 }),
  get_delegation_result: ({ done }) => ({ delegationId: done }),
  cancel_delegation: ({ asking }) => ({ delegationId: asking }),
  send_message: ({ asking }) => ({ delegationId: asking, message: "work for me" }),
  peek_result: ({ done }) => ({ delegationId: done }),
  search_result: ({ done }) => ({ delegationId: done, query: "in" }),
  slice_result: ({ done }) => ({ delegationId: done, from: 1, lines: 10 }),
  answer: ({ askId }) => ({ askId, text: "the other one" }),
  list_sub_agents: () => ({}),
  list_profiles: () => ({ query: "in" }),
  read_inbox: () => ({ keep: true }),
};

const uris = ({ asking, done, runId }: Ids): readonly string[] => [
  runUri(runId),
  ...[done, asking].flatMap((id) => delegationParts.map((part) => delegationUri(id, part))),
];

function masked(text: string, ids: Ids): string {
  return Object.values(ids).reduce((rest, id) => rest.replaceAll(id, "ID"), text);
}

test("no tool, resource or task tells an operator of the jobs of another one", async () => {
  await using engine = await openEngine({ profiles, model: script });
  const [own, foreign] = [contextOf(engine, alice), contextOf(engine, bob)];
  const ids = await delegate(engine, own);
  const delegating = mcpToolsOf(engine).filter(({ delegates }) => delegates === true);
  const walked = mcpToolsOf(engine).filter((tool) => !delegating.includes(tool));
  expect(walked.map(({ name }) => name).sort()).toEqual(Object.keys(inputs).sort());
  for (const tool of walked) {
    const ask = async (about: Ids): Promise<string> => {
      const { isError, structured, text } = await callTool(
        tool,
        inputs[tool.name]?.(about),
        foreign,
      );
      return masked(JSON.stringify({ isError, structured, text }), about);
    };
    const reply = await ask(ids);
    expect(reply, tool.name).toBe(await ask(ghosts));
    for (const secret of secrets) expect(reply, tool.name).not.toContain(secret);
  }
  const known = [...uris(ids), ...uris(ghosts)];
  for (const uri of known) await expect(readResource(foreign.session, uri)).rejects.toThrow();
  const listed = JSON.stringify(await listResources(foreign.session));
  for (const text of [...secrets, ...Object.values(ids)]) expect(listed).not.toContain(text);
  const tasks = delegationTasks(engine);
  expect(await tasks.read(bob, `spawn.${ids.asking}`)).toBeUndefined();
  expect(await tasks.questions(bob, `spawn.${ids.asking}`)).toEqual({});
  await tasks.answer(bob, `spawn.${ids.asking}`, ids.askId, { action: "decline" });
  await tasks.cancel(bob, `spawn.${ids.asking}`);
  await tasks.cancel(vera, `spawn.${ids.asking}`);
  expect(await new Inbox(engine.store).open()).toMatchObject([{ runId: ids.runId }]);
  await own.session.close();
  await foreign.session.close();
  await engine.engine.cancel(ids.runId, "The test is over.");
});

test("operators who see all runs, and viewers, read and find the jobs of another operator", async () => {
  await using engine = await openEngine({ profiles, model: script });
  const own = contextOf(engine, alice);
  const ids = await delegate(engine, own);
  for (const principal of [alice, ops, vera]) {
    const context = contextOf(engine, principal);
    const awaited = await callTool(
      toolOf(engine, "spawn_await"),
      { job_ids: `${ids.done},${ids.asking}`, max_wait_ms: 1 },
      context,
    );
    expect([principal.id, awaited.text]).toEqual([
      principal.id,
      `[${ids.done}: OK]\n${secrets[2]}\n\n[${ids.asking}: RUNNING] Call spawn_await again to wait for it.`,
    ]);
    const input = { delegationId: ids.done };
    const result = await callTool(toolOf(engine, "get_delegation_result"), input, context);
    expect(result.text).toContain(secrets[2]);
    const inbox = await callTool(toolOf(engine, "read_inbox"), { keep: true }, context);
    expect(inbox.text).toContain(secrets[1]);
    const { contents } = await readResource(context.session, delegationUri(ids.done, "result"));
    expect(JSON.stringify(contents)).toContain(secrets[2]);
    expect(JSON.stringify(await listResources(context.session))).toContain(ids.runId);
    expect(await delegationTasks(engine).read(principal, `spawn.${ids.asking}`)).toMatchObject({
      state: { status: "input_required" },
    });
    await context.session.close();
  }
  const helper = contextOf(engine, ops);
  const input = { delegationId: ids.asking };
  const cancelled = await callTool(toolOf(engine, "cancel_delegation"), input, helper);
  expect(JSON.parse(cancelled.text)).toEqual({ delegationId: ids.asking, outcome: "cancelled" });
  await helper.session.close();
  await own.session.close();
});

test("spawn_await waits for a job of an earlier session, beside those of its own", async () => {
  await using engine = await openEngine({ profiles, model: script });
  const [first, second] = [contextOf(engine, alice), contextOf(engine, alice)];
  const { askId, asking, done } = await delegate(engine, first);
  const spawned = { profile: "plain", task: "look" };
  const own = await callTool(toolOf(engine, "spawn"), spawned, second);
  const input = { job_ids: `${asking},${own.text},${done},ffffff`, max_wait_ms: 20_000 };
  const waiting = callTool(toolOf(engine, "spawn_await"), input, second);
  const answer = { askId, text: "the other one" };
  await callTool(toolOf(engine, "answer"), answer, second);
  const { structured, text } = await waiting;
  expect(structured).toMatchObject({ running: 0 });
  for (const id of [asking, own.text, done]) expect(text).toContain(`[${id}: OK]`);
  expect(text).toContain("[ffffff: NOT FOUND]");
  const none = { job_ids: asking, max_wait_ms: -1 };
  expect(await callTool(toolOf(engine, "spawn_await"), none, second)).toMatchObject({
    isError: true,
  });
  const all = await callTool(toolOf(engine, "spawn_await"), { job_ids: "*" }, second);
  expect(all.text).toBe("No jobs found.");
  await second.session.close();
  await first.session.close();
});

test("get_delegation_result waits for a job of an earlier session, no longer than clients do", async () => {
  const clock = new ManualClock();
  await using engine = await openEngine({ profiles, model: script, clock });
  const [first, second] = [contextOf(engine, alice), contextOf(engine, alice)];
  const { askId, asking } = await delegate(engine, first);
  const get = (wait_ms: number) =>
    callTool(toolOf(engine, "get_delegation_result"), { delegationId: asking, wait_ms }, second);
  const before = clock.waiting;
  const bounded = get(3_600_000);
  await until("it waits", () => clock.waiting > before);
  await clock.advance(45_000);
  expect((await bounded).structured).toEqual({ delegation: null });
  const waiting = get(40_000);
  await until("it waits again", () => clock.waiting > before);
  await callTool(toolOf(engine, "answer"), { askId, text: "the other one" }, second);
  expect((await waiting).structured).toMatchObject({
    delegation: { delegationId: asking, status: "completed" },
  });
  expect(await get(-1)).toMatchObject({ isError: true });
  await second.session.close();
  await first.session.close();
});
