import { describe, expect, it } from "vitest";
import type { Script } from "../models/scripted/scripted-model.ts";
import {
  type EngineOptions,
  ofType,
  openEngine,
  type TestEngine,
  testProfile,
} from "../testing/engine-fixture.ts";
import { initRepository } from "../testing/git-workspace.test-support.ts";
import { ManualClock } from "../testing/manual-clock.ts";
import { until } from "../testing/until.ts";
import { findOverdue } from "./recovery/logged-time.ts";

const minute = 60_000;
const limits = { timeoutMs: 5 * minute };
const profiles = [
  testProfile("asker", { tools: ["ask_user"], limits }),
  testProfile("lead", { tools: ["delegate_task", "ask_user"], limits }),
];

/** Depth two asks; those above it wait for it. Each takes so many more turns after that. */
const asksBelow =
  (questions: number, afterwards: Script = () => "done"): Script =>
  (request) => {
    const { caller, messages } = request;
    if (caller.depth < 2) {
      const profile = caller.depth === 0 ? "lead" : "asker";
      if (caller.turn === 1) {
        return { calls: [{ tool: "delegate_task", input: { profile, task: "below" } }] };
      }
      return JSON.parse(messages.at(-1)?.text ?? "{}").result ?? "nothing";
    }
    if (caller.turn <= questions) {
      return { calls: [{ tool: "ask_user", input: { message: `Question ${caller.turn}?` } }] };
    }
    return afterwards(request);
  };

function setting(model: Script) {
  const clock = new ManualClock();
  const options: EngineOptions = { clock, profiles, model };
  return { clock, options };
}

async function question(mandate: TestEngine, runId: string, number: number) {
  return until(`question ${number}`, async () =>
    ofType(await mandate.events(runId), "agent.asked").at(number - 1),
  );
}

/** Time begins to pass: a clock that stands at zero has not begun. */
async function startAt(mandate: TestEngine, clock: ManualClock) {
  await clock.advance(1);
  return mandate.start({ task: "go", profile: "lead" });
}

describe("time that waits for a person", () => {
  it("does not count against the one that asks, nor those above it", async () => {
    const { clock, options } = setting(asksBelow(1));
    await using mandate = await openEngine(options);
    const { runId, result } = await startAt(mandate, clock);
    const asked = await question(mandate, runId, 1);
    await clock.advance(10 * minute);
    expect(await mandate.engine.answer(asked.payload.ask_id, "green")).toBe(true);
    expect(await result).toMatchObject({ status: "completed", result: "done" });
  });

  it("does not count in two questions in a row", async () => {
    const { clock, options } = setting(asksBelow(2));
    await using mandate = await openEngine(options);
    const { runId, result } = await startAt(mandate, clock);
    for (const number of [1, 2]) {
      const asked = await question(mandate, runId, number);
      await clock.advance(10 * minute);
      await mandate.engine.answer(asked.payload.ask_id, "green");
    }
    expect(await result).toMatchObject({ status: "completed", result: "done" });
  });

  it("ends with the answer: from there the deadlines run as they did before", async () => {
    const { clock, options } = setting(asksBelow(1, () => ({ fault: "hang" })));
    const deadlines = { firstTokenMs: 60 * minute, stallMs: 60 * minute };
    await using mandate = await openEngine({
      ...options,
      limits: { deadlines: { ...deadlines, toolMs: 60 * minute, idleMs: 60 * minute } },
    });
    const { runId, result } = await startAt(mandate, clock);
    const asked = await question(mandate, runId, 1);
    await clock.advance(10 * minute);
    await mandate.engine.answer(asked.payload.ask_id, "green");
    await until("it is asked again", async () => {
      const reserved = ofType(await mandate.events(runId), "agent.budget_reserved");
      return reserved.filter((event) => event.sub_agent_id === asked.sub_agent_id).at(1);
    });
    await clock.advance(5 * minute - 1000);
    expect((await mandate.store.readRun(runId))?.outcome).toBeNull();
    await clock.advance(2000);
    expect(await result).toMatchObject({ status: "timeout", closeReason: "timeout" });
  });

  it("does not count while a merge waits for approval", async () => {
    const writer = testProfile("writer", {
      tools: ["write_file"],
      workspace: { approval: true },
    });
    const boss = testProfile("boss", { tools: "*", limits });
    const clock = new ManualClock();
    await using mandate = await openEngine({
      clock,
      profiles: [boss, writer],
      model: ({ caller }) => {
        if (caller.turn > 1) return "done";
        return caller.profile === "boss"
          ? { calls: [{ tool: "delegate_task", input: { profile: "writer", task: "write" } }] }
          : { calls: [{ tool: "write_file", input: { path: "a.txt", content: "A" } }] };
      },
    });
    const { workspace } = mandate;
    initRepository(workspace, { "a.txt": "a" });
    await clock.advance(1);
    const { runId, result } = await mandate.start({ task: "go", profile: "boss", workspace });
    const asked = await question(mandate, runId, 1);
    expect(asked.payload.kind).toBe("approval");
    await clock.advance(10 * minute);
    await mandate.engine.answer(asked.payload.ask_id, "yes");
    expect(await result).toMatchObject({
      status: "completed",
      subDelegations: [{ status: "completed", closeReason: "integrated" }],
    });
  });

  it("ends at the deadline of the question, which is the one that was shown", async () => {
    const { clock, options } = setting(
      asksBelow(1, ({ messages }) => `told: ${messages.at(-1)?.text}`),
    );
    await using mandate = await openEngine(options);
    const { runId, result } = await startAt(mandate, clock);
    const asked = await question(mandate, runId, 1);
    expect(asked.payload.deadline_at - asked.at).toBe(15 * minute);
    await clock.advance(15 * minute - 1000);
    const isOpen = async () => {
      const state = await mandate.store.readRun(runId);
      const asker = state?.delegations.get(asked.sub_agent_id ?? "");
      return asker?.status === "running" && asker.ask !== null;
    };
    expect(await isOpen()).toBe(true);
    await clock.advance(1001);
    const { result: text, status } = await result;
    expect(status).toBe("completed");
    expect(text).toMatch(/^told: Error: no answer came in time/);
  });

  it("counts where the one above has work of its own under way", async () => {
    const { clock, options } = setting(({ caller }) => {
      if (caller.depth > 0) {
        return { calls: [{ tool: "ask_user", input: { message: "Blue or green?" } }] };
      }
      if (caller.turn > 1) return { fault: "hang" };
      return { calls: [{ tool: "spawn", input: { profile: "asker", task: "ask" } }] };
    });
    const spawner = testProfile("spawner", { tools: ["spawn", "ask_user"], limits });
    const hour = 60 * minute;
    await using mandate = await openEngine({
      ...options,
      profiles: [...profiles, spawner],
      limits: {
        askDeadlineMs: hour,
        deadlines: { firstTokenMs: hour, stallMs: hour, toolMs: hour, idleMs: hour },
      },
    });
    await clock.advance(1);
    const { runId, delegationId, result } = await mandate.start({ task: "go", profile: "spawner" });
    await question(mandate, runId, 1);
    await until("its second request", async () =>
      ofType(await mandate.events(runId), "agent.budget_reserved", delegationId).at(1),
    );
    await clock.advance(5 * minute + 1000);
    expect(await result).toMatchObject({ status: "timeout", closeReason: "timeout" });
  });

  it("is known from the log alone, after a crash in the middle of the question", async () => {
    const { clock, options } = setting(asksBelow(1));
    await using first = await openEngine(options);
    const { runId } = await startAt(first, clock);
    const asked = await question(first, runId, 1);
    await clock.advance(6 * minute);
    first.abandon();
    const second = await first.another(options);
    const [recovered] = await second.engine.recover();
    await until("it asks again", () => second.engine.liveRuns.some(({ asks }) => asks.size > 0));
    await clock.advance(6 * minute);
    expect(await second.engine.answer(asked.payload.ask_id, "green")).toBe(true);
    expect(await recovered?.result).toMatchObject({ status: "completed", result: "done" });
  });

  it("is known from the log alone, after a crash that follows the answer", async () => {
    const { clock, options } = setting(asksBelow(2));
    await using first = await openEngine(options);
    const { runId } = await startAt(first, clock);
    const asked = await question(first, runId, 1);
    await clock.advance(10 * minute);
    await first.engine.answer(asked.payload.ask_id, "green");
    const again = await question(first, runId, 2);
    first.abandon();
    const second = await first.another(options);
    const [recovered] = await second.engine.recover();
    await until("it asks again", () => second.engine.liveRuns.some(({ asks }) => asks.size > 0));
    const live = second.engine.liveRuns.flatMap((run) => [...run.delegations.byId.values()]);
    for (const agent of live) {
      expect(agent.process.time.left()).toBeGreaterThan(4 * minute);
    }
    await second.engine.answer(again.payload.ask_id, "blue");
    expect(await recovered?.result).toMatchObject({ status: "completed", result: "done" });
  });

  it("is not overdue for a watchdog that sees the worker stand still", async () => {
    const { clock, options } = setting(asksBelow(1, () => ({ fault: "hang" })));
    await using mandate = await openEngine(options);
    const { runId } = await startAt(mandate, clock);
    const asked = await question(mandate, runId, 1);
    const { worker } = mandate.store.ownership;
    const find = (ms: number) =>
      findOverdue(mandate.store, worker, { since: clock.now(), ms }, 1000);
    await clock.advance(10 * minute);
    expect(await find(10 * minute)).toEqual([]);
    await mandate.engine.answer(asked.payload.ask_id, "green");
    await until("it is asked again", async () => {
      const reserved = ofType(await mandate.events(runId), "agent.budget_reserved");
      return reserved.filter((event) => event.sub_agent_id === asked.sub_agent_id).at(1);
    });
    expect(await find(4 * minute)).toEqual([]);
    expect((await find(6 * minute)).map(({ depth }) => depth)).toEqual([0, 1, 2]);
  });
});
