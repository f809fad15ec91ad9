import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { StoredEvent } from "../../events/event.ts";
import type { Script } from "../../models/scripted/scripted-model.ts";
import type { DispatchedWork, Dispatcher } from "../../ports/workers.ts";
import { ofType, openEngine, testProfile } from "../../testing/engine-fixture.ts";
import { openFleet } from "../../testing/fleet.test-support.ts";
import { initRepository } from "../../testing/git-workspace.test-support.ts";
import { until } from "../../testing/until.ts";

const profiles = [
  testProfile("lead", { capabilities: ["primary", "subtask"], tools: "*" }),
  testProfile("worker", { tools: ["delegate_task", "ask_user", "list_files"] }),
];

const delegate = (task: string, more: object = {}) => ({
  tool: "delegate_task",
  input: { task, profile: "worker", ...more },
});

/** A root that hands out three tasks at once, and says what came back. */
const fanOut: Script = ({ caller, messages }) => {
  if (caller.depth > 0) return { text: `${caller.task} done`, latency_ms: 10 };
  if (caller.turn === 1) return { calls: ["a", "b", "c"].map((task) => delegate(task)) };
  return `All: ${JSON.stringify(messages)
    .match(/[abc] done/g)
    ?.join(", ")}`;
};

const workersOf = (events: readonly StoredEvent[]): string[] =>
  ofType(events, "agent.claimed").map(({ payload }) => payload.worker);

describe("a run that is spread over workers", () => {
  it("is worked on by all of them: a parent on one awaits its children on others", async () => {
    await using fleet = await openFleet(3, { profiles, model: fanOut });
    const { result, events } = await fleet.client.run({ task: "go", profile: "lead" });
    expect(result).toMatchObject({ status: "completed", result: "All: a done, b done, c done" });
    expect(new Set(workersOf(events)).size).toBe(3);
    expect(ofType(events, "run.finished")[0]?.payload.outcome).toBe("succeeded");
    // Who started it wrote only its beginning.
    expect(workersOf(events)).not.toContain(fleet.client.store.ownership.worker);
  });

  it("holds a budget that all of them spend from", async () => {
    const model: Script = ({ caller }) => {
      if (caller.depth > 0) {
        return { text: "spent", usage: { prompt: 900, completion: 100 }, latency_ms: 5 };
      }
      return caller.turn === 1
        ? { calls: Array.from({ length: 12 }, (_, n) => delegate(`t${n}`, { maxTokens: 8000 })) }
        : "done";
    };
    await using fleet = await openFleet(3, { profiles, model, limits: { runTokens: 30_000 } });
    const { events } = await fleet.client.run({
      task: "go",
      profile: "lead",
      budgetTokens: 30_000,
    });
    let held = 0;
    let spent = 0;
    for (const event of events) {
      if (event.type === "agent.budget_reserved") held += event.payload.tokens;
      if (event.type === "agent.budget_settled") {
        held -= event.payload.reserved;
        spent += event.payload.prompt + event.payload.completion;
      }
      expect(held + spent).toBeLessThanOrEqual(30_000);
    }
  });

  it("has no more delegations than it may, whoever makes them", async () => {
    const model: Script = ({ caller }) => {
      if (caller.depth > 1) return "leaf";
      return caller.turn === 1 ? { calls: [1, 2, 3, 4].map((n) => delegate(`t${n}`)) } : "done";
    };
    await using fleet = await openFleet(3, { profiles, model, limits: { maxChildren: 9 } });
    const { events } = await fleet.client.run({ task: "go", profile: "lead" });
    expect(ofType(events, "agent.subagent_created").length).toBe(9);
    const refused = ofType(events, "agent.tool_failed").concat(
      ofType(events, "agent.tool_denied") as never,
    );
    expect(refused.some(({ payload }) => payload.error.includes("which is its limit"))).toBe(true);
  });

  it("ends with all below when it is cancelled, from anywhere", async () => {
    const model: Script = ({ caller }) =>
      caller.depth < 2 ? { calls: [delegate(`below ${caller.depth}`)] } : { fault: "stall" };
    await using fleet = await openFleet(3, { profiles, model });
    const { runId, result } = await fleet.client.start({ task: "go", profile: "lead" });
    await until("the last one asks its model", async () => {
      const run = await fleet.client.store.readRun(runId);
      const last = [...(run?.delegations.values() ?? [])].at(2);
      return last?.status === "running" && last.waitingOn.on === "model";
    });
    expect(await fleet.client.engine.cancel(runId, "enough")).toBe("cancelled");
    expect(await result).toMatchObject({ status: "cancelled", result: "enough" });
    const closed = ofType(await fleet.client.events(runId), "agent.subagent_closed");
    expect(closed.map(({ payload }) => payload.close_reason)).toEqual(Array(3).fill("cancelled"));
    await until("all workers let go", () =>
      fleet.workers.every(({ engine }) => engine.liveRuns.length === 0),
    );
  });

  it("asks a person from any worker, and the answer reaches it", async () => {
    const model: Script = ({ caller, messages }) => {
      if (caller.depth === 0) return caller.turn === 1 ? { calls: [delegate("paint")] } : "done";
      if (caller.turn === 1)
        return { calls: [{ tool: "ask_user", input: { message: "Colour?" } }] };
      return `It is ${JSON.stringify(messages.at(-1)).includes("green") ? "green" : "bare"}`;
    };
    await using fleet = await openFleet(2, { profiles, model });
    const { runId, result } = await fleet.client.start({ task: "go", profile: "lead" });
    const ask = await until(
      "the question",
      async () => (await fleet.client.store.readInbox({ limit: 9, openOnly: true }))[0]?.ask,
    );
    expect(await fleet.client.engine.answer(ask.id, "green")).toBe(true);
    await result;
    const outputs = ofType(await fleet.client.events(runId), "agent.subagent_waiting_for_merge");
    expect(outputs.map(({ payload }) => payload.output)).toContain("It is green");
  });
});

describe("a message in a run that is spread over workers", () => {
  it("reaches a child that another worker works on, once and before its next turn", async () => {
    const model: Script = ({ caller, messages }) => {
      const said = messages.flatMap(({ role, text }) => (role === "user" ? text : [])).slice(1);
      if (caller.depth > 0) {
        if (caller.turn > 1) return `heard ${said.join("; ")}`;
        return { calls: [{ tool: "ask_user", input: { message: "Ready?" } }] };
      }
      const [job] = messages.flatMap((one) => (one.role === "tool" ? one.text : []));
      const input = { delegationId: job, message: "mind the gap" };
      if (caller.turn === 1) {
        return { calls: [{ tool: "spawn", input: { task: "listen", profile: "worker" } }] };
      }
      if (caller.turn === 2) return { calls: [{ tool: "send_message", input }] };
      return caller.turn === 3
        ? { calls: [{ tool: "spawn_await", input: { job_ids: "*" } }] }
        : (messages.at(-1)?.text.split("\n").at(-1) ?? "");
    };
    await using fleet = await openFleet(2, { profiles, model });
    const { runId, result } = await fleet.client.start({ task: "go", profile: "lead" });
    const ask = await until("the question, and the message", async () => {
      const sent = ofType(await fleet.client.events(runId), "agent.message_sent");
      const [item] = await fleet.client.store.readInbox({ limit: 9, openOnly: true });
      return sent.length > 0 && item?.ask;
    });
    await fleet.client.engine.answer(ask.id, "yes");
    expect(await result).toMatchObject({
      result: "heard Message from the agent or program that you work for: mind the gap",
    });
    const events = await fleet.client.events(runId);
    expect(new Set(workersOf(events)).size).toBe(2);
    expect(ofType(events, "agent.interjected")).toHaveLength(1);
  });
});

describe("a worker that dies", () => {
  it("loses its delegations to others, which go on from the last step that was written", async () => {
    const turns = new Map<string, number>();
    const model: Script = ({ caller }) => {
      if (caller.depth === 0) return caller.turn === 1 ? { calls: [delegate("long")] } : "done";
      turns.set(`${caller.turn}`, (turns.get(`${caller.turn}`) ?? 0) + 1);
      // The worker dies while it waits for this answer.
      if (caller.turn === 3) return turns.get("3") === 1 ? { fault: "stall" } : "the end";
      return { calls: [{ tool: "list_files", input: { path: "." } }] };
    };
    await using fleet = await openFleet(2, { profiles, model });
    const { runId, result } = await fleet.client.start({ task: "go", profile: "lead" });
    await until("its third turn", () => turns.has("3"));
    const child = fleet.given.find(
      ({ delegationId }) => delegationId !== fleet.given[0]?.delegationId,
    );
    fleet.kill(child?.worker ?? 0);
    expect(await result).toMatchObject({ status: "completed" });
    // What was written was not asked for again; what was under way was.
    expect([...turns]).toEqual([
      ["1", 1],
      ["2", 1],
      ["3", 2],
    ]);
    const events = await fleet.client.events(runId);
    const fences = ofType(events, "agent.claimed", child?.delegationId);
    expect(fences.map(({ payload }) => payload.fence)).toEqual([1, 2]);
  });

  it("and comes back is refused whatever it still wants to write", async () => {
    const model: Script = () => ({ fault: "stall" });
    await using fleet = await openFleet(1, { profiles, model });
    const { runId, delegationId, result } = await fleet.client.start({
      task: "go",
      profile: "lead",
    });
    await until(
      "a worker claims it",
      async () => workersOf(await fleet.client.events(runId)).length === 1,
    );
    // Taken for dead: another has claimed it.
    const { store } = fleet.client;
    const claim = { worker: store.ownership.worker, fence: 2 };
    await store.append({
      runId,
      by: claim,
      events: [{ type: "agent.claimed", sub_agent_id: delegationId, payload: claim }],
    });
    const [zombie] = fleet.workers;
    await until("it lets go", () => zombie?.engine.liveRuns.length === 0);
    const late = zombie?.store.append({
      runId,
      by: { worker: zombie.store.ownership.worker, fence: 1 },
      events: [{ type: "agent.paused", sub_agent_id: delegationId, payload: { reason: "budget" } }],
    });
    await expect(late).rejects.toMatchObject({ code: "fenced" });
    await fleet.client.engine.cancel(runId, "over");
    expect((await result).status).toBe("cancelled");
  });
});

describe("a worker that is given a delegation twice", () => {
  it("works on it once", async () => {
    const isRefused = Promise.withResolvers<void>();
    const model: Script = async () => {
      await isRefused.promise;
      return "done";
    };
    const sent: DispatchedWork[] = [];
    const dispatcher: Dispatcher = {
      async dispatch(work) {
        sent.push(work);
      },
    };
    await using client = await openEngine({ profiles, model, dispatcher });
    const { runId, delegationId, result } = await client.start({ task: "go", profile: "lead" });
    expect(sent.map((work) => work.delegationId)).toEqual([delegationId]);
    const outcomes = [1, 2].map(async () => {
      const outcome = await client.engine.worker.workOn({ runId, delegationId });
      if (outcome === "busy") isRefused.resolve();
      return outcome;
    });
    expect((await Promise.all(outcomes)).toSorted()).toEqual(["busy", "done"]);
    expect((await result).status).toBe("completed");
    expect(ofType(await client.events(runId), "agent.budget_reserved").length).toBe(1);
  });
});

describe("what children make in copies", () => {
  it("is handed in by their workers and merged by their caller's, in order", async () => {
    const writers = [
      testProfile("lead", { capabilities: ["primary", "subtask"], tools: "*" }),
      testProfile("worker", { tools: ["write_file", "read_file"] }),
    ];
    const model: Script = ({ caller }) => {
      if (caller.depth === 0) {
        const calls = ["one", "two"].map((name) => delegate(name));
        return caller.turn === 1 ? { calls } : "merged";
      }
      if (caller.turn > 1) return `${caller.task} written`;
      const input = { path: `${caller.task}.txt`, content: `by ${caller.task}\n` };
      return { calls: [{ tool: "write_file", input }] };
    };
    await using fleet = await openFleet(2, { profiles: writers, model });
    const { workspace } = fleet.client;
    initRepository(workspace, { "readme.txt": "here\n" });
    const { result, events } = await fleet.client.run({ task: "go", profile: "lead", workspace });
    expect(result.status).toBe("completed");
    expect(ofType(events, "agent.worktree_merged").length).toBe(2);
    for (const name of ["one", "two"]) {
      expect(readFileSync(join(workspace, `${name}.txt`), "utf8")).toBe(`by ${name}\n`);
    }
  });
});
