import { expect, it } from "vitest";
import type { Script } from "../../models/scripted/scripted-model.ts";
import { ofType, testProfile } from "../../testing/engine-fixture.ts";
import { type Fleet, openFleet } from "../../testing/fleet.test-support.ts";
import { initRepository } from "../../testing/git-workspace.test-support.ts";
import { until } from "../../testing/until.ts";
import { busy } from "../busy-tool.test-support.ts";
import {
  delegate,
  Scene,
  startScene,
  profiles as team,
} from "../suspend/interrupt-scene.test-support.ts";
import { replayAgain } from "./replay-again.test-support.ts";

const profiles = [
  testProfile("lead", { capabilities: ["primary", "subtask"], tools: "*" }),
  testProfile("worker", { tools: ["delegate_task", "ask_user", "list_files"] }),
];

const same = { differences: [], isFinished: true };

/** The worker that has it dies, and another one has claimed it when this resolves. */
async function loseHolder(fleet: Fleet, runId: string, id: string): Promise<void> {
  const claims = async () => ofType(await fleet.client.events(runId), "agent.claimed", id);
  const before = (await claims()).length;
  fleet.kill(fleet.given.findLast((one) => one.delegationId === id)?.worker ?? 0);
  await until("another worker claims it", async () => (await claims()).length > before);
}

async function childOf(fleet: Fleet, runId: string): Promise<string> {
  return until("there is a child", async () => {
    const [, child] = (await fleet.client.store.readRun(runId))?.delegations.keys() ?? [];
    return child;
  });
}

it("a child that another worker took over in the middle of a request is replayed", async () => {
  let isLost = false;
  const turns: number[] = [];
  const model: Script = ({ caller }) => {
    if (caller.depth === 0) {
      return caller.turn === 1 ? { calls: [delegate("worker", "long")] } : "done";
    }
    turns.push(caller.turn);
    if (caller.turn === 3) return isLost ? "the end" : { fault: "stall" };
    return { calls: [{ tool: "list_files", input: { path: "." } }] };
  };
  await using fleet = await openFleet(3, { profiles, model });
  const { client } = fleet;
  const { runId, result } = await client.start({ task: "go", profile: "lead" });
  const child = await childOf(fleet, runId);
  await until("its third turn", () => turns.includes(3));
  isLost = true;
  await loseHolder(fleet, runId, child);
  expect(await result).toMatchObject({ status: "completed" });
  expect(await replayAgain(client.store, runId)).toMatchObject(same);
});

it("a worker that died before it wrote anything is passed over by a replay", async () => {
  let isLost = false;
  const model: Script = ({ caller }) => {
    if (caller.turn === 1) return { calls: [{ tool: "list_files", input: { path: "." } }] };
    return isLost ? "the end" : { fault: "stall" };
  };
  await using fleet = await openFleet(3, { profiles, model });
  const { client } = fleet;
  const { delegationId, result, runId } = await client.start({ task: "go", profile: "lead" });
  await until("its second turn", async () => {
    return ofType(await client.events(runId), "agent.budget_reserved").length === 2;
  });
  const holder = fleet.given.findLast((one) => one.delegationId === delegationId)?.worker ?? 0;
  fleet.workers[holder]?.abandon();
  const brief = await client.another({ profiles, model });
  const by = { worker: brief.store.ownership.worker, fence: 2 };
  const claim = { type: "agent.claimed", sub_agent_id: delegationId, payload: by } as const;
  await brief.store.append({ runId, by, events: [claim] });
  brief.abandon();
  isLost = true;
  fleet.kill(holder);
  expect(await result).toMatchObject({ status: "completed", result: "the end" });
  expect(await replayAgain(client.store, runId)).toMatchObject(same);
});

it("a caller that another worker took over while its children worked is replayed", async () => {
  const isLost = Promise.withResolvers<void>();
  const model: Script = async ({ caller }) => {
    if (caller.depth === 0) {
      const calls = ["a", "b"].map((task) => delegate("worker", task));
      return caller.turn === 1 ? { calls } : "done";
    }
    await isLost.promise;
    return caller.task;
  };
  // The root has a worker of its own.
  await using fleet = await openFleet(4, {
    ...{ profiles, model, choose: ({ depth }) => (depth === 0 ? 0 : undefined) },
  });
  const { client } = fleet;
  const { delegationId, runId, result } = await client.start({ task: "go", profile: "lead" });
  await until("both children are asked", async () => {
    return ofType(await client.events(runId), "agent.budget_reserved").length >= 3;
  });
  await loseHolder(fleet, runId, delegationId);
  isLost.resolve();
  expect(await result).toMatchObject({ status: "completed" });
  expect(await replayAgain(client.store, runId)).toMatchObject(same);
});

it("a question that is asked again after a takeover is replayed with its answer", async () => {
  const model: Script = ({ caller, messages }) => {
    if (caller.turn > 1) return `heard ${messages.at(-1)?.text}`;
    return { calls: [{ tool: "ask_user", input: { message: "Colour?" } }] };
  };
  await using fleet = await openFleet(2, { profiles, model });
  const { client } = fleet;
  const { delegationId, runId, result } = await client.start({ task: "go", profile: "lead" });
  const ask = await until(
    "the question",
    async () => (await client.store.readInbox({ limit: 9, openOnly: true }))[0]?.ask,
  );
  await loseHolder(fleet, runId, delegationId);
  expect(await client.engine.answer(ask.id, "green")).toBe(true);
  expect(await result).toMatchObject({ status: "completed" });
  expect(await replayAgain(client.store, runId)).toMatchObject(same);
});

it("a distributed run that was paused and resumed is replayed to its end", async () => {
  const scene = new Scene(delegate("rester", "nest a"), delegate("ender", "b"));
  await using fleet = await openFleet(3, { profiles: team, tools: [busy], model: scene.model });
  const { client } = fleet;
  const { result, runId } = await startScene(client, 4);
  expect((await client.engine.interrupt(runId, "later")).outcome).toBe("paused");
  expect(await replayAgain(client.store, runId)).toMatchObject({ ...same, isFinished: false });
  scene.mayStop = true;
  await client.engine.resume(runId);
  expect(await result).toMatchObject({ status: "completed" });
  expect(await replayAgain(client.store, runId)).toMatchObject(same);
});

it("a distributed interrupt whose root loses its worker is replayed, and so is the resume", async () => {
  const scene = new Scene(delegate("rester", "a"), delegate("goer", "b"));
  await using fleet = await openFleet(3, { profiles: team, tools: [busy], model: scene.model });
  const { client } = fleet;
  const { delegationId, result, runId } = await startScene(client, 3);
  const holder = fleet.given.findLast((one) => one.delegationId === delegationId)?.worker ?? 0;
  const interrupting = client.engine.interrupt(runId, "later");
  fleet.kill(holder);
  const { settled } = await interrupting;
  scene.mayStop = true;
  await settled;
  expect(await replayAgain(client.store, runId)).toMatchObject({ ...same, isFinished: false });
  await client.engine.resume(runId);
  expect(await result).toMatchObject({ status: "completed" });
  expect(await replayAgain(client.store, runId)).toMatchObject(same);
});

it("writers and their caller that lose their workers are replayed with their merges", async () => {
  const mayEnd = Promise.withResolvers<void>();
  const writers = [
    testProfile("lead", { capabilities: ["primary", "subtask"], tools: "*" }),
    testProfile("worker", { tools: ["write_file"] }),
  ];
  const model: Script = async ({ caller }) => {
    if (caller.depth === 0) {
      const calls = ["one", "two", "three"].map((task) => delegate("worker", task));
      return caller.turn === 1 ? { calls } : "merged";
    }
    if (caller.turn > 1) await mayEnd.promise;
    if (caller.turn > 1) return `${caller.task} written`;
    const input = { path: `${caller.task}.txt`, content: `by ${caller.task}\n` };
    return { calls: [{ tool: "write_file", input }] };
  };
  await using fleet = await openFleet(4, {
    ...{ profiles: writers, model, choose: ({ depth }) => (depth === 0 ? 0 : undefined) },
  });
  const { client } = fleet;
  const { workspace } = client;
  initRepository(workspace, { "readme.txt": "here\n" });
  const request = { task: "go", profile: "lead", workspace };
  const { delegationId, runId, result } = await client.start(request);
  const child = await childOf(fleet, runId);
  await until("all have written", async () => {
    const turns = ofType(await client.events(runId), "agent.model_turn");
    return turns.filter(({ sub_agent_id: id }) => id !== delegationId).length === 3;
  });
  await loseHolder(fleet, runId, delegationId);
  await loseHolder(fleet, runId, child);
  mayEnd.resolve();
  expect(await result).toMatchObject({ status: "completed", result: "merged" });
  expect(await replayAgain(client.store, runId)).toMatchObject(same);
});

it("a session whose server is gone, and whose sub-agents went on, is replayed", async () => {
  const scene = new Scene();
  const options = { profiles: team, tools: [busy], model: scene.model };
  await using fleet = await openFleet(2, options);
  const { client } = fleet;
  const { dispatcher } = client.parts;
  const server = await client.another({ ...options, ...(dispatcher && { dispatcher }) });
  const session = await server.engine.openSession({ client: "other", outlivesProcess: true });
  await session.call("spawn", { profile: "ender", task: "ender" });
  await until("it works", () => scene.asked.length > 2);
  server.abandon();
  await client.engine.worker.reenqueueOrphans();
  scene.mayStop = true;
  const run = await until("the run ends", async () => {
    const state = await client.store.readRun(session.runId);
    return state?.outcome !== null && state;
  });
  const ends = [...run.delegations.values()].map(
    (one) => one.status === "closed" && one.closeReason,
  );
  expect(ends).toEqual(["parent_crash", "report_accepted"]);
  expect(await replayAgain(client.store, session.runId)).toMatchObject(same);
});
