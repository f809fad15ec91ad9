import { setTimeout as delay } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import type { Script } from "../models/scripted/scripted-model.ts";
import { isDistributed, notOffered } from "../testing/alter-database.test-support.ts";
import { openEngine, testProfile } from "../testing/engine-fixture.ts";
import { Scheduler } from "./scheduler.ts";

const tools = ["delegate_task", "spawn", "spawn_await"];
const profiles = [testProfile("agent", { tools }), testProfile("leaf", { tools: [] })];

const idle = ({ running, queued }: Scheduler): boolean => running === 0 && queued === 0;

describe("slots", () => {
  it("are given back while waiting: one slot is enough for a tree of any depth and width", async () => {
    let running = 0;
    let most = 0;
    const model: Script = async ({ caller, tools: offered }) => {
      running += 1;
      most = Math.max(most, running);
      await delay(1);
      running -= 1;
      if (caller.turn > 1 || offered.length === 0) return "done";
      const call = { tool: "delegate_task", input: { profile: "agent", task: "more" } };
      return { calls: [call, call] };
    };
    await using mandate = await openEngine({ profiles, model, maxConcurrent: 1 });
    const { result } = await mandate.run({ task: "go", profile: "agent" });
    expect(result.status).toBe("completed");
    expect(most).toBe(1);
    expect(idle(mandate.parts.scheduler)).toBe(true);
  });

  it("are not given back by one that spawns and goes on working", async () => {
    const order: string[] = [];
    const model: Script = async ({ caller }) => {
      order.push(`${caller.profile} ${caller.turn}`);
      await delay(1);
      if (caller.profile === "leaf") return "leaf done";
      if (caller.turn < 4)
        return { calls: [{ tool: "spawn", input: { task: `${caller.turn}`, profile: "leaf" } }] };
      return caller.turn === 4
        ? { calls: [{ tool: "spawn_await", input: { job_ids: "*" } }] }
        : "done";
    };
    await using mandate = await openEngine({ profiles, model, maxConcurrent: 1 });
    const { result } = await mandate.run({ task: "go", profile: "agent" });
    expect(result.status).toBe("completed");
    expect(order.slice(0, 4)).toEqual(["agent 1", "agent 2", "agent 3", "agent 4"]);
  });

  it("are given out first come, first served", async ({ skip }) => {
    skip(isDistributed, notOffered.order);
    const started: string[] = [];
    const model: Script = async ({ caller }) => {
      if (caller.depth > 0) {
        started.push(caller.task);
        await delay(1);
        return "done";
      }
      const tasks = Array.from({ length: 12 }, (_, index) => `${index}`);
      const calls = tasks.map((task) => ({
        tool: "delegate_task",
        input: { profile: "leaf", task },
      }));
      return caller.turn === 1 ? { calls } : "done";
    };
    await using mandate = await openEngine({ profiles, model, maxConcurrent: 2 });
    await mandate.run({ task: "go", profile: "agent" });
    expect(started).toEqual(Array.from({ length: 12 }, (_, index) => `${index}`));
  });

  it("limit how many work at once, over all runs, and 200 that wait all get their turn", async () => {
    let running = 0;
    let most = 0;
    const model: Script = async ({ caller }) => {
      if (caller.depth === 0) {
        const calls = Array.from({ length: 100 }, (_, index) => ({
          tool: "delegate_task",
          input: { profile: "leaf", task: `${index}` },
        }));
        return caller.turn === 1 ? { calls } : "done";
      }
      running += 1;
      most = Math.max(most, running);
      await delay(2);
      running -= 1;
      return "done";
    };
    const limits = { maxChildren: 300 };
    await using mandate = await openEngine({ profiles, model, limits, maxConcurrent: 5 });
    const runs = await Promise.all([1, 2].map(() => mandate.run({ task: "go", profile: "agent" })));
    for (const { result } of runs) {
      expect(result.subDelegations).toHaveLength(100);
      expect(result.subDelegations?.every(({ status }) => status === "completed")).toBe(true);
    }
    expect(most).toBe(5);
    expect(idle(mandate.parts.scheduler)).toBe(true);
  });
});

describe("the scheduler", () => {
  it("lets those who come back go before those who are new", async () => {
    const order: string[] = [];
    const scheduler = new Scheduler(1);
    scheduler.enter(() => order.push("first"));
    scheduler.enter(() => order.push("new"));
    const back = scheduler.comeBack()?.then(() => order.push("back"));
    scheduler.leave();
    await back;
    expect(order).toEqual(["first", "back"]);
    scheduler.leave();
    expect(order).toEqual(["first", "back", "new"]);
  });

  it("survives a queue of those who ended before they began", () => {
    const scheduler = new Scheduler(1);
    scheduler.enter(() => {});
    let passed = 0;
    for (let one = 0; one < 50_000; one++) {
      scheduler.enter(() => {
        passed += 1;
        scheduler.leave();
      });
    }
    scheduler.leave();
    expect(passed).toBe(50_000);
    expect(idle(scheduler)).toBe(true);
  });
});
