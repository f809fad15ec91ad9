import { describe, expect, test } from "vitest";
import { z } from "zod";
import type { Profile } from "../agents/profiles/profile.ts";
import { noExposure } from "../contracts/exposure.ts";
import type { Script } from "../models/scripted/scripted-model.ts";
import {
  ofType,
  openEngine,
  recording,
  type TestEngine,
  testProfile,
} from "../testing/engine-fixture.ts";
import { HeldClock } from "../testing/held-clock.test-support.ts";
import { until } from "../testing/until.ts";
import { defineTool } from "../tools/tool.ts";
import { watched } from "./watched.test-support.ts";

const limits = { watchIntervalMs: 1 };
const boss = testProfile("boss", {
  capabilities: ["primary", "subtask"],
  tools: ["list_files", "delegate_task"],
});
const worker = testProfile("worker", { tools: ["list_files"] });
const pair = (more: Partial<Profile> = {}) =>
  testProfile("pair", { capabilities: ["watcher"], tools: ["interject"], ...more });
const list = (turn: number) => ({
  calls: [{ tool: "list_files", input: { path: turn % 2 === 0 ? "." : "./" } }],
});
const isRemark = (from: string) => from.startsWith("watcher:");

/** Lists files for so many turns; a watcher says not much. */
function turns(most: number): Script {
  return ({ caller }) => {
    if (caller.profile === "pair") return "ok";
    return caller.turn < most ? list(caller.turn) : "done";
  };
}

async function watchedRun(engine: TestEngine, watchers = ["pair"]) {
  const { workspace } = engine;
  return engine.run({ task: "work", profile: "boss", workspace, watchers });
}

const closedBy = (events: Awaited<ReturnType<TestEngine["events"]>>, id: string | undefined) =>
  ofType(events, "agent.subagent_closed", id)[0];

describe("a watcher", () => {
  test("can look and remark, and neither write, remember, ask, delegate nor end anything", async () => {
    const tools = ["interject", "read_file", "write_file", "memory_save", "ask_user", "spawn"];
    const ends = ["complete_task", "submit_for_review", "request_review", "submit_plan", "shell"];
    const greedy = pair({ tools: [...tools, ...ends] });
    const { seen, model } = recording(
      watched((request) =>
        request.caller.profile === "pair" && request.caller.turn === 1
          ? { calls: [{ tool: "ask_user", input: { message: "May I?" } }] }
          : turns(4)(request),
      ),
    );
    await using engine = await openEngine({ model, profiles: [boss, greedy], limits });
    const { events, result } = await watchedRun(engine);
    expect(result.status).toBe("completed");
    const shown = seen.find(({ caller }) => caller.profile === "pair")?.tools;
    expect(shown?.map(({ name }) => name).sort()).toEqual(["interject", "read_file"]);
    expect(ofType(events, "agent.asked")).toEqual([]);
    expect(ofType(events, "agent.tool_denied")[0]?.payload.rule).toBe("tool_not_granted");
  });

  test("lives as long as what it watches, whatever time a task would have", async () => {
    const short = pair({ limits: { timeoutMs: 50 } });
    const clock = new HeldClock();
    const model: Script = (request) => {
      if (request.caller.profile === "boss") clock.pass(20);
      return turns(6)(request);
    };
    await using engine = await openEngine({
      clock,
      model: watched(model),
      profiles: [boss, short],
      limits: { ...limits, defaultTimeMs: 10_000 },
    });
    const { delegationId, events } = await watchedRun(engine);
    const ends = ofType(events, "agent.subagent_closed");
    const watcher = ends.find(({ sub_agent_id: id }) => id !== delegationId);
    expect(watcher?.payload).toMatchObject({ final_status: "completed" });
  });

  test("takes no slot, neither when it speaks nor afterwards", async () => {
    let hasSpoken = false;
    const model: Script = ({ caller }) => {
      if (caller.profile === "worker") return "dug";
      if (caller.profile === "pair") {
        if (hasSpoken) return "ok";
        hasSpoken = true;
        return { calls: [{ tool: "interject", input: { severity: "warn", message: "Hm." } }] };
      }
      if (caller.turn < 3) return list(caller.turn);
      const dig = { tool: "delegate_task", input: { profile: "worker", task: "dig" } };
      return caller.turn < 5 ? { calls: [dig] } : "done";
    };
    const profiles = [boss, pair(), worker];
    await using engine = await openEngine({
      model: watched(model),
      profiles,
      limits,
      maxConcurrent: 1,
    });
    const { result } = await watchedRun(engine);
    expect([hasSpoken, result.status]).toEqual([true, "completed"]);
    expect(engine.parts.scheduler.running).toBe(0);
  });

  test("of a child ends with that child, and the run goes on", async () => {
    const watcherClosed = Promise.withResolvers<void>();
    const model: Script = async (request) => {
      const { profile, turn } = request.caller;
      if (profile === "boss" && turn === 1) {
        return { calls: [{ tool: "delegate_task", input: { profile: "worker", task: "dig" } }] };
      }
      if (profile === "boss") await watcherClosed.promise;
      return turns(4)(request);
    };
    await using engine = await openEngine({
      model: watched(model, "worker"),
      profiles: [boss, pair(), worker],
      limits,
    });
    const { workspace } = engine;
    const { delegationId, result, runId } = await engine.start({
      task: "work",
      profile: "boss",
      workspace,
    });
    const atWork = async () => {
      const state = await engine.store.readRun(runId);
      return [...(state?.delegations.values() ?? [])].find(
        ({ depth, status }) => depth === 1 && status === "running",
      )?.id;
    };
    const childId = await until("the child is at work", atWork);
    const watcher = await engine.engine.watchers.start(childId, "pair");
    engine.store.subscribe((events) => {
      if (closedBy(events, watcher)) watcherClosed.resolve();
    });
    await expect(engine.engine.watchers.start(watcher, "pair")).rejects.toThrow(
      "is a watcher itself",
    );
    await result;
    const events = await engine.events(runId);
    const seq = (id: string) => closedBy(events, id)?.run_seq ?? Number.NaN;
    expect(seq(watcher)).toBeGreaterThan(seq(childId));
    const bossAfter = ofType(events, "agent.model_turn", delegationId).at(-1)?.run_seq ?? 0;
    expect(seq(watcher)).toBeLessThan(bossAfter);
  });

  test.each([
    { tools: ["complete_task"] },
    { outputSchema: { type: "object" } },
    { review: { profile: "worker" } },
  ])("is not held to the way in which its tasks end: %j", async (exit) => {
    const bound = pair({ capabilities: ["watcher", "subtask"], exit, tools: "*" });
    await using engine = await openEngine({
      model: watched(turns(5)),
      profiles: [boss, bound, worker],
      limits,
    });
    const { events } = await watchedRun(engine);
    const ends = ofType(events, "agent.subagent_closed").map(({ payload }) => payload.close_reason);
    expect(ends).toEqual(["report_accepted", "report_accepted"]);
    expect(ofType(events, "agent.asked")).toEqual([]);
  });

  test("that nobody knows keeps a run from being started at all", async () => {
    const { seen, model } = recording(turns(2));
    await using engine = await openEngine({ model, profiles: [boss, pair()], limits });
    await expect(watchedRun(engine, ["pair", "nobody"])).rejects.toMatchObject({
      code: "unknown-profile",
    });
    await expect(watchedRun(engine, ["boss"])).rejects.toThrow("cannot be given a task this way");
    expect([await engine.store.listRuns({}), seen]).toEqual([[], []]);
  });

  test("comes too late to a run that is over at once, and nothing is wrong with that", async () => {
    await using engine = await openEngine({
      model: () => "done",
      profiles: [boss, pair()],
      limits,
    });
    for (let round = 0; round < 10; round++) {
      expect((await watchedRun(engine, ["pair", "pair"])).result.status).toBe("completed");
    }
  });
});

describe("a critical remark", () => {
  /** The boss makes many calls at once as soon as somebody has said stop. */
  function play(calls: number) {
    const remarked = Promise.withResolvers<void>();
    let hasSpoken = false;
    const script: Script = async ({ caller, messages }) => {
      const last = messages.at(-1);
      if (caller.profile === "pair") {
        if (hasSpoken || !last?.text.includes("gave")) return "ok";
        hasSpoken = true;
        return {
          calls: [{ tool: "interject", input: { severity: "critical", message: "Stop!" } }],
        };
      }
      if (caller.turn === 1) return list(1);
      if (caller.turn > 2) return "done";
      await remarked.promise;
      return { calls: Array.from({ length: calls }, (_, turn) => list(turn).calls[0] as never) };
    };
    const listen = (engine: TestEngine) =>
      engine.store.subscribe((events) => {
        if (ofType(events, "agent.interjected").some(({ payload }) => isRemark(payload.from))) {
          remarked.resolve();
        }
      });
    return { listen, script };
  }

  test("stops every call of a turn, and is no reason to end the one who made them", async () => {
    const { listen, script } = play(8);
    await using engine = await openEngine({ model: script, profiles: [boss, pair()], limits });
    listen(engine);
    const { events, result } = await watchedRun(engine);
    const rules = ofType(events, "agent.tool_denied").map(({ payload }) => payload.rule);
    expect(rules).toEqual(Array.from({ length: 8 }, () => "interjected"));
    expect(result).toMatchObject({ status: "completed", result: "done" });
  });

  test("in the middle of a call lets it come to its end, and stops those after it", async () => {
    const isStopped = Promise.withResolvers<void>();
    const isUnderWay = Promise.withResolvers<void>();
    const made: string[] = [];
    const slow = defineTool({
      name: "slow",
      description: "Takes its time.",
      effect: "write",
      exposure: noExposure,
      idempotent: false,
      scopes: [],
      input: z.strictObject({ name: z.string() }),
      async execute({ name }) {
        isUnderWay.resolve();
        await isStopped.promise;
        made.push(name);
        return "made";
      },
    });
    const model: Script = async ({ caller, messages }) => {
      if (caller.profile === "pair") {
        await isUnderWay.promise;
        if (messages.at(-1)?.role === "tool") return "ok";
        return {
          calls: [{ tool: "interject", input: { severity: "critical", message: "Stop!" } }],
        };
      }
      const calls = ["one", "two"].map((name) => ({ tool: "slow", input: { name } }));
      return caller.turn === 1 ? { calls } : `read: ${messages.at(-1)?.text}`;
    };
    const leader = testProfile("boss", { capabilities: ["primary"], tools: ["slow"] });
    const profiles = [leader, pair()];
    await using engine = await openEngine({ model, profiles, limits, tools: [slow] });
    engine.store.subscribe((events) => {
      if (ofType(events, "agent.interjected").some(({ payload }) => isRemark(payload.from))) {
        isStopped.resolve();
      }
    });
    const { events, result } = await watchedRun(engine);
    expect(made).toEqual(["one"]);
    expect(ofType(events, "agent.tool_denied")[0]?.payload.rule).toBe("interjected");
    expect(result.result).toBe("read: A watcher of your work says (critical): Stop!");
  });

  test("stops calls that were not made yet when the process died", async () => {
    const { script } = play(2);
    const hangs: Script = (request) =>
      request.caller.profile === "boss" && request.caller.turn === 2
        ? { fault: "hang" }
        : script(request);
    await using engine = await openEngine({ model: hangs, profiles: [boss, pair()], limits });
    const { workspace } = engine;
    const request = { task: "work", profile: "boss", workspace, watchers: ["pair"] };
    const { delegationId, runId } = await engine.start(request);
    const isSaid = async () =>
      ofType(await engine.events(runId), "agent.interjected", delegationId).length > 0;
    await until("the remark", isSaid);
    // The answer is in the log, and what it asks for has not begun.
    const { store } = engine;
    const [reserved] = ofType(await engine.events(runId), "agent.budget_reserved", delegationId)
      .slice(-1)
      .map(({ payload }) => payload);
    const model = (await store.readContract(delegationId)).model;
    await store.append({
      runId,
      by: store.ownership,
      events: [
        {
          type: "agent.model_turn",
          sub_agent_id: delegationId,
          payload: {
            requested: `${model.provider}/${model.model}`,
            served: null,
            usage: { prompt: 1, completion: 1, cost: 0 },
            finish_reason: "tool-calls",
            calls: [{ id: "late", name: "list_files", input: {} }],
          },
        },
        {
          type: "agent.budget_settled",
          sub_agent_id: delegationId,
          payload: {
            request: reserved?.request ?? 0,
            reserved: reserved?.tokens ?? 0,
            prompt: 1,
            completion: 1,
            cost: 0,
          },
        },
      ],
    });
    engine.abandon();
    const after: Script = ({ caller }) => (caller.profile === "pair" ? "ok" : "done");
    await using second = await engine.another({
      model: after,
      profiles: [boss, pair()],
      limits,
    });
    const [recovered] = await second.engine.recover();
    expect((await recovered?.result)?.status).toBe("completed");
    const [denied] = ofType(await second.events(runId), "agent.tool_denied", delegationId);
    expect(denied?.payload).toMatchObject({ call_id: "late", rule: "interjected" });
  });
});
