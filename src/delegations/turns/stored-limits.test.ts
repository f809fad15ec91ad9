import { describe, expect, it } from "vitest";
import type { LimitScope } from "../../contracts/usage-limit.ts";
import type { LimitValue } from "../../control/records/limit-records.ts";
import { type Script, scriptedModel } from "../../models/scripted/scripted-model.ts";
import { ofType, openEngine, type TestEngine, testProfile } from "../../testing/engine-fixture.ts";
import { ManualClock } from "../../testing/manual-clock.ts";
import { until } from "../../testing/until.ts";

const admin = { id: "ada", role: "admin" } as const;
const prices = { "scripted/playbook": { input: 1000, output: 1000 } };
const config = { models: { providers: {}, pools: {}, prices } };
const limits = { maxOutputTokens: 400, maxRetries: 0, backoffMs: 1 };
const profiles = [testProfile("worker", { tools: [] })];
const asked = { task: "go", profile: "worker" };

const set = (mandate: TestEngine, scope: LimitScope, value: LimitValue, version = 0) =>
  mandate.control.plane.setLimit(scope, value, version, admin);

/** Answers when it is let, and counts how many requests there are at the same time. */
function gauge() {
  const waiting: (() => void)[] = [];
  let now = 0;
  const seen = { most: 0, total: 0 };
  const model: Script = async () => {
    now++;
    seen.total++;
    seen.most = Math.max(seen.most, now);
    await new Promise<void>((resolve) => waiting.push(resolve));
    now--;
    return { text: "done", usage: { prompt: 10, completion: 10 } };
  };
  return { model, seen, waiting, answerAll: () => waiting.splice(0).map((answer) => answer()) };
}

describe("a stored limit", () => {
  it("of concurrency holds over processes, and requests that wait give their slot to others", async () => {
    const { answerAll, model, seen, waiting } = gauge();
    const options = { model, config, limits, profiles, maxConcurrent: 4 };
    await using mandate = await openEngine(options);
    await set(mandate, "provider/scripted", { concurrency: 2 });
    const other = await mandate.another(options);
    const runs = await Promise.all(
      [mandate, other, mandate, other, mandate, other].map((engine) => engine.start(asked)),
    );
    const ends = Promise.all(runs.map(({ result }) => result));
    await until("two requests are under way", () => waiting.length === 2);
    await until("the others have given their slots", () => mandate.parts.scheduler.running <= 2);
    let isOver = false;
    void ends.then(() => (isOver = true));
    await until("all are answered", () => {
      answerAll();
      return isOver;
    });
    expect((await ends).map(({ outcome }) => outcome)).toEqual(Array(6).fill("succeeded"));
    expect(seen).toEqual({ most: 2, total: 6 });
    const logged = await Promise.all(runs.map(({ runId }) => mandate.events(runId)));
    // One event for a wait, however often the store is asked.
    for (const events of logged) expect(ofType(events, "agent.paused").length).toBeLessThan(2);
    expect(logged.flatMap((events) => ofType(events, "agent.paused")).length).toBeGreaterThan(2);
    const used = await mandate.wholeStore.usage?.usageOf(["provider/scripted"]);
    expect(used?.get("provider/scripted")).toMatchObject({ open: 0, requests: 6, tokens: 120 });
  });

  it("of requests a minute admits no more in any minute, and the rest when the minute has passed", async () => {
    const clock = new ManualClock();
    const at: number[] = [];
    const model: Script = () => {
      at.push(clock.now());
      return { text: "done", usage: { prompt: 10, completion: 10 } };
    };
    await using mandate = await openEngine({ model, config, limits, profiles, clock });
    await set(mandate, "tenant", { requestsPerMinute: 3 });
    const runs = await Promise.all(Array.from({ length: 7 }, () => mandate.start(asked)));
    let isOver = false;
    void Promise.all(runs.map(({ result }) => result)).then(() => (isOver = true));
    await until("all runs have ended", async () => {
      await clock.advance(500);
      return isOver;
    });
    expect(at).toHaveLength(7);
    for (const from of at) {
      expect(at.filter((each) => each >= from && each < from + 60_000).length).toBeLessThan(4);
    }
    expect((at.at(-1) ?? 0) - (at[0] ?? 0)).toBeLessThan(190_000);
  });

  it("of tokens a minute counts what a request may use, then what it used", async () => {
    const clock = new ManualClock();
    let requests = 0;
    const model: Script = () => {
      requests++;
      return { text: "done", usage: { prompt: 10, completion: 10 } };
    };
    await using mandate = await openEngine({ model, config, limits, profiles, clock });
    // Each may use some 950, and uses 20: only one at a time fits, and then the next at once.
    await set(mandate, "queue/default", { tokensPerMinute: 1200 });
    const runs = await Promise.all(Array.from({ length: 5 }, () => mandate.start(asked)));
    let isOver = false;
    void Promise.all(runs.map(({ result }) => result)).then(() => (isOver = true));
    const start = clock.now();
    await until("all runs have ended", async () => {
      await clock.advance(500);
      return isOver;
    });
    expect(requests).toBe(5);
    expect(clock.now() - start).toBeLessThan(60_000);
  });

  it("of dollars a day is never exceeded by two processes, refuses with a code, and begins anew at midnight UTC", async () => {
    const clock = new ManualClock({ now: Date.UTC(2030, 5, 1, 23, 0) });
    const model: Script = () => ({ text: "done", usage: { prompt: 200, completion: 100 } });
    const options = { model, config, limits, profiles, clock };
    await using mandate = await openEngine(options);
    // A request may cost about a dollar, and costs 30 cents.
    await set(mandate, "tenant", { dollarsPerDay: 3 });
    const other = await mandate.another(options);
    const results: { outcome: string; reason: string | null }[] = [];
    const once = async (engine: TestEngine) => {
      const { result, runId } = await engine.start(asked);
      let isOver = false;
      void result.then(() => (isOver = true));
      await until("it ends", async () => {
        await clock.advance(100);
        return isOver;
      });
      const { closeReason, outcome } = await result;
      results.push({ outcome: outcome ?? "open", reason: closeReason ?? null });
      return runId;
    };
    let runId = "";
    for (let round = 0; round < 6; round++) {
      const started = await Promise.all([once(mandate), once(other)]);
      runId = started[0];
    }
    const succeeded = results.filter(({ outcome }) => outcome === "succeeded");
    expect(succeeded.length).toBeGreaterThan(3);
    expect(succeeded.length).toBeLessThan(results.length);
    const refused = results.filter(({ outcome }) => outcome !== "succeeded");
    expect(new Set(refused.map(({ reason }) => reason))).toEqual(new Set(["budget_exhausted"]));
    const [failed] = ofType(await mandate.events(runId), "agent.subagent_failed");
    expect(failed?.payload.cause).toMatchObject({ code: "quota_spent", scope: "tenant", most: 3 });
    const used = await mandate.wholeStore.usage?.usageOf(["tenant"]);
    const { held = 0, spent = 0 } = used?.get("tenant") ?? {};
    expect([held, spent]).toEqual([0, succeeded.length * 0.3 * 1e9]);
    expect(spent).toBeLessThanOrEqual(3e9);
    await clock.advance(60 * 60 * 1000);
    await once(mandate);
    expect(results.at(-1)?.outcome).toBe("succeeded");
  });

  it("of dollars refuses a model without a price, which it could not count", async () => {
    const models = { "acme/one": scriptedModel(() => "done") };
    const unpriced = [testProfile("worker", { tools: [], model: { model: "acme/one" } })];
    await using mandate = await openEngine({ models, limits, profiles: unpriced });
    await set(mandate, "tenant", { dollarsPerDay: 3 });
    const { events } = await mandate.run(asked);
    const [failed] = ofType(events, "agent.subagent_failed");
    expect(failed?.payload.cause).toMatchObject({ code: "model_unpriced", cost: 3 });
  });

  it("that waits ends with its delegation's deadline, and holds nothing afterwards", async () => {
    const { model, waiting, answerAll } = gauge();
    await using mandate = await openEngine({ model, config, limits, profiles });
    await set(mandate, "tenant", { concurrency: 1 });
    const first = await mandate.start(asked);
    await until("the first is under way", () => waiting.length === 1);
    const second = await mandate.start(asked);
    const waits = async () => ofType(await mandate.events(second.runId), "agent.paused").length;
    await until("the second waits", async () => (await waits()) === 1);
    await mandate.engine.cancel(second.runId, "enough");
    expect((await second.result).outcome).toBe("cancelled");
    const third = await mandate.start(asked);
    answerAll();
    await first.result;
    await until("the third is under way", () => waiting.length === 1);
    answerAll();
    expect((await third.result).outcome).toBe("succeeded");
  });

  it("is changed by administrators alone, against a version, and is in the control log", async () => {
    await using mandate = await openEngine({ model: () => "done", profiles });
    const plane = mandate.control.plane;
    const operator = { id: "bob", role: "operator" } as const;
    await expect(plane.setLimit("tenant", { concurrency: 1 }, 0, operator)).rejects.toThrow(
      "Setting limits requires admin access.",
    );
    await set(mandate, "tenant", { concurrency: 1 });
    await expect(set(mandate, "tenant", { concurrency: 2 })).rejects.toMatchObject({
      code: "conflict",
    });
    await set(mandate, "tenant", { concurrency: 2 }, 1);
    const wrong = "provider/openai; drop" as LimitScope;
    await expect(set(mandate, wrong, { concurrency: 1 })).rejects.toMatchObject({ code: "usage" });
    await expect(set(mandate, "queue/a", { dollarsPerDay: 1 })).rejects.toThrow("whole tenant");
    await expect(set(mandate, "queue/a", {})).rejects.toThrow("sets no limit");
    expect(await plane.limits()).toMatchObject([
      { scope: "tenant", value: { concurrency: 2 }, version: 2, setBy: "ada" },
    ]);
    await plane.removeLimit("tenant", 2, admin);
    expect(await plane.limits()).toEqual([]);
  });
});
