import { expect, test } from "vitest";
import type { Principal } from "../../control/records/principal.ts";
import type { Script } from "../../models/scripted/scripted-model.ts";
import { openEngine, type TestEngine, testProfile } from "../../testing/engine-fixture.ts";
import { until } from "../../testing/until.ts";
import { LocalClientSession } from "./client-session.ts";
import { earlierWork } from "./earlier-work.ts";
import { callTool, type McpCallContext } from "./mcp-tool.ts";
import { delegationTasks } from "./tasks/delegation-tasks.ts";
import { mcpToolsOf } from "./tools/mcp-tools.ts";

const profiles = [
  testProfile("ender", { tools: [] }),
  testProfile("stayer", { tools: [], onParentInterrupt: "continue" }),
];

const alice: Principal = { id: "alice", role: "operator" };

interface Who {
  readonly principal?: Principal;
  readonly client?: string;
  readonly folders?: readonly string[];
}

function sessionIn(engine: TestEngine, who: Who = {}): LocalClientSession {
  const { client = "desk", folders = [engine.workspace], principal = alice } = who;
  return new LocalClientSession({ runtime: engine, principal, client, folders });
}

async function call(session: LocalClientSession, name: string, input: object) {
  const tool = mcpToolsOf(session.runtime).find((one) => one.name === name);
  if (tool === undefined) throw new Error(`There is no ${name}.`);
  const { signal } = new AbortController();
  const unheard = { report: () => undefined, onDelegation: () => undefined };
  const context: McpCallContext = { session, signal, answerBy: null, ...unheard };
  return callTool(tool, input, context);
}

test("A client's next session sees the sub-agents of a killed server, and no other session does", async () => {
  await using engine = await openEngine({
    profiles,
    model: ({ messages }) =>
      JSON.stringify(messages).includes("slow") ? { fault: "hang" } : { text: "Done" },
  });
  const first = sessionIn(engine);
  const { text: done } = await call(first, "spawn", { profile: "ender", task: "quick" });
  await call(first, "spawn_await", { job_ids: done });
  const { text: cut } = await call(first, "spawn", { profile: "ender", task: "slow" });
  const runId = first.opened?.runId;
  // A second server of the same client: the first one still works on it.
  const beside = await engine.another({ profiles, model: () => ({ text: "Done" }) });
  const running = { delegationId: cut, status: "running", runId };
  await until("the second server sees the run", async () => {
    const found = await earlierWork(sessionIn(beside));
    return found.length === 2 && found[1]?.status === "running" && found;
  });
  expect(await earlierWork(sessionIn(beside))).toMatchObject([{ delegationId: done }, running]);
  expect((await earlierWork(sessionIn(beside)))[1]).not.toHaveProperty("resume");
  // Its own session has nothing earlier.
  expect(await earlierWork(first)).toEqual([]);

  engine.abandon();
  const resume = `mandate resume ${runId}`;
  const interrupted = { delegationId: cut, status: "interrupted", resume };
  const next = sessionIn(beside);
  const listed = await call(next, "list_sub_agents", {});
  expect(listed.structured).toMatchObject({
    subAgents: [{ delegationId: done, status: "closed", outcome: "completed" }, interrupted],
  });
  expect(JSON.parse(listed.text)).toEqual((listed.structured as { subAgents: object }).subAgents);
  const inbox = await call(next, "read_inbox", { keep: true });
  expect(inbox.structured).toMatchObject({ interrupted: [interrupted] });
  const others: readonly Who[] = [
    { principal: { id: "bob", role: "operator" } },
    { principal: { id: "ops", role: "operator", allRuns: true } },
    { principal: { id: "vera", role: "viewer" } },
    { client: "another" },
    { client: "unknown client" },
    { folders: [`${engine.workspace}-other`] },
    { folders: [] },
  ];
  for (const who of others) {
    const session = sessionIn(beside, who);
    expect(await earlierWork(session), JSON.stringify(who)).toEqual([]);
    const { text } = await call(session, "list_sub_agents", {});
    expect(text).toBe("[]");
  }
  const [taken] = (await beside.engine.resume(runId ?? "")).runs;
  await taken?.result;
  expect(await earlierWork(next)).toMatchObject([
    { delegationId: done },
    { delegationId: cut, status: "closed", outcome: "completed" },
  ]);
});

test("What ended with its session says how it is resumed, and what continued it", async () => {
  let hangs = true;
  await using engine = await openEngine({
    profiles,
    model: ({ caller }) =>
      hangs && caller.profile === "ender" ? { fault: "hang" } : { text: "Done" },
  });
  const first = sessionIn(engine);
  const { text: cut } = await call(first, "spawn", { profile: "ender", task: "slow" });
  const { text: done } = await call(first, "spawn", { profile: "stayer", task: "quick" });
  await call(first, "spawn_await", { job_ids: done });
  const runId = first.opened?.runId ?? "";
  await first.close();
  const next = sessionIn(engine);
  const ended = { delegationId: cut, status: "closed", closeReason: "parent_closed" };
  const listed = await earlierWork(next);
  expect(listed).toMatchObject([ended, { delegationId: done, outcome: "completed" }]);
  expect(listed.map(({ resume }) => resume)).toEqual([`mandate resume ${runId}`, undefined]);
  hangs = false;
  const [resumed] = (await engine.engine.resume(runId, alice)).runs;
  await resumed?.result;
  const continued = await earlierWork(next);
  expect(continued).toMatchObject([
    { ...ended, continuedBy: resumed?.delegationId },
    { delegationId: resumed?.delegationId, runId: resumed?.runId, outcome: "completed" },
    { delegationId: done },
  ]);
  expect(continued.filter(({ resume }) => resume !== undefined)).toEqual([]);
});

test("A sub-agent that was paused with its session is not running any more, for any tool", async () => {
  const model: Script = ({ messages }) =>
    messages.length < 2 ? { fault: "hang" } : { text: "Done" };
  const rester = testProfile("rester", { tools: [], onParentInterrupt: "pause" });
  await using engine = await openEngine({ profiles: [rester], model });
  const first = sessionIn(engine);
  const { text: id } = await call(first, "spawn", { profile: "rester", task: "slow" });
  await first.close();
  const next = sessionIn(engine);
  const resume = `mandate resume ${first.opened?.runId}`;
  expect(await earlierWork(next)).toMatchObject([{ status: "interrupted", resume }]);
  const wait = { delegationId: id, wait_ms: 45_000 };
  const result = await call(next, "get_delegation_result", wait);
  expect(result).toMatchObject({ isError: true, text: expect.stringContaining(resume) });
  const jobs = await call(next, "spawn_await", { job_ids: id });
  expect(jobs.structured).toMatchObject({ running: 0, jobs: [{ status: "error" }] });
  expect(await delegationTasks(engine).read(alice, `spawn_subagent.${id}`)).toMatchObject({
    state: { status: "failed", error: { message: expect.stringContaining(resume) } },
  });
  await call(next, "cancel_delegation", { delegationId: id });
  await engine.engine.cancel(first.opened?.runId ?? "", "The test is over.");
});

test("A client resumes a workflow of its earlier session, and another principal cannot", async () => {
  const asked: string[] = [];
  let hangs = true;
  const general = testProfile("general", { tools: [] });
  await using engine = await openEngine({
    profiles: [...profiles, general],
    model({ caller: { task } }) {
      asked.push(task);
      return hangs && task === "two" ? { fault: "hang" } : { text: `did ${task}` };
    },
  });
  const script = `export const meta = { name: "m", description: "d" }
    return await parallel(["one", "two"].map((n) => () => agent(n)))`;
  const first = sessionIn(engine);
  const { text } = await call(first, "run_workflow", { script });
  const { delegationId: id } = JSON.parse(text);
  await until("the first agent is recorded", async () => {
    const events = await engine.events(first.opened?.runId ?? "");
    return asked.length === 2 && events.some(({ type }) => type === "agent.workflow_settled");
  });
  const open = await call(first, "run_workflow", { resume: id });
  expect(open.text).toContain(`workflow ${id} has not ended`);
  await first.close();
  hangs = false;
  asked.length = 0;
  const bob = sessionIn(engine, { principal: { id: "bob", role: "operator" } });
  expect((await call(bob, "run_workflow", { resume: id })).text).toContain(`no workflow ${id}`);
  await bob.close();
  const next = sessionIn(engine);
  const resumed = JSON.parse((await call(next, "run_workflow", { resume: id })).text);
  const input = { delegationId: resumed.delegationId, wait_ms: 60_000 };
  const { text: result } = await call(next, "get_delegation_result", input);
  expect(result).toContain("did two");
  expect(asked).toEqual(["two"]);
  await next.close();
});
