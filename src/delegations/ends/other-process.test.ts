/** Several processes on one database: here several stores, each with its own connection. */

import { setTimeout as delay } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { noExposure } from "../../contracts/exposure.ts";
import type { Script } from "../../models/scripted/scripted-model.ts";
import { isDistributed, notOffered } from "../../testing/alter-database.test-support.ts";
import {
  ofType,
  openEngine,
  recording,
  type TestEngine,
  testProfile,
} from "../../testing/engine-fixture.ts";
import { until } from "../../testing/until.ts";
import { defineTool } from "../../tools/tool.ts";

let aborted = 0;
let ticks = 0;
const tick = defineTool({
  name: "tick",
  description: "Counts.",
  effect: "exec",
  exposure: noExposure,
  idempotent: false,
  scopes: [],
  input: z.strictObject({ n: z.int() }),
  async execute(_input, { signal }) {
    signal.addEventListener("abort", () => {
      aborted += 1;
    });
    ticks += 1;
    await delay(5);
    return "ticked";
  },
});

const profiles = [
  testProfile("lead", { tools: ["delegate_task"], mayDelegate: { tools: ["tick"] } }),
  testProfile("worker", { tools: ["tick"] }),
];
const options = { profiles, tools: [tick] };

/** A lead whose child ticks on and on. */
const endless: Script = ({ caller }) => {
  if (caller.task === "elsewhere") return "done";
  if (caller.depth > 0) return { calls: [{ tool: "tick", input: { n: caller.turn } }] };
  if (caller.turn > 1) return { text: "went on", latency_ms: 5 };
  return { calls: [{ tool: "delegate_task", input: { profile: "worker", task: "tick" } }] };
};

/** Whatever was still going on in this process has had its time when another run is over. */
async function runElsewhere(mandate: TestEngine): Promise<void> {
  await mandate.run({ task: "elsewhere", profile: "worker" });
}

const childOf = (mandate: TestEngine, runId: string) => async () => {
  const run = await mandate.store.readRun(runId);
  return [...(run?.delegations.values() ?? [])].find(({ depth }) => depth === 1)?.id;
};

describe("cancelling a run that another process works on", () => {
  it("closes it in one append; the other stops and writes nothing more", async () => {
    ticks = 0;
    await using mandate = await openEngine({ ...options, model: endless });
    const { runId, result } = await mandate.start({ task: "go", profile: "lead" });
    await until("some ticks", () => ticks > 2);
    const second = await mandate.another({ ...options, model: endless });
    expect(await second.engine.cancel(runId, "enough")).toBe("cancelled");
    const events = await second.events(runId);
    expect(ofType(events, "run.finished")).toHaveLength(1);
    expect(await result).toMatchObject({
      status: "cancelled",
      closeReason: "cancelled",
      result: "enough",
    });
    const ticked = ticks;
    await runElsewhere(mandate);
    expect(ticks).toBe(ticked);
    expect(await second.events(runId)).toEqual(events);
    expect(await second.engine.cancel(runId, "again")).toBe("already_terminal");
    expect(await mandate.engine.cancel(runId, "again")).toBe("already_terminal");
    expect(mandate.parts.scheduler.running).toBe(0);
  });

  it("aborts the tool that is running there", async () => {
    aborted = 0;
    const slow = defineTool({
      ...tick,
      async execute(_input, { signal }) {
        ticks += 1;
        await new Promise((resolve) => signal.addEventListener("abort", resolve));
        aborted += 1;
        return "never";
      },
    });
    ticks = 0;
    await using mandate = await openEngine({ profiles, tools: [slow], model: endless });
    const { runId, result } = await mandate.start({ task: "go", profile: "lead" });
    await until("the call", () => ticks === 1);
    const second = await mandate.another({ profiles, tools: [slow], model: endless });
    await second.engine.cancel(runId, "enough");
    expect((await result).status).toBe("cancelled");
    await until("the abort", () => aborted === 1);
    const [unknown] = ofType(await second.events(runId), "agent.tool_outcome_unknown");
    expect(unknown?.payload.tool).toBe("tick");
  });

  it("may be about a child alone: its caller there is told, and goes on", async () => {
    ticks = 0;
    const { seen, model } = recording(endless);
    await using mandate = await openEngine({ ...options, model });
    const { runId, result } = await mandate.start({ task: "go", profile: "lead" });
    await until("some ticks", () => ticks > 1);
    const second = await mandate.another({ ...options, model: endless });
    const id = (await childOf(second, runId)()) ?? "";
    expect(await second.engine.cancel(id, "not this one")).toBe("cancelled");
    expect(await result).toMatchObject({ status: "completed", result: "went on" });
    const shown = seen
      .filter(({ caller }) => caller.depth === 0)
      .at(-1)
      ?.messages.at(-1)?.text;
    expect(JSON.parse(shown ?? "{}")).toMatchObject({
      delegationId: id,
      status: "cancelled",
      result: "not this one",
    });
    expect(ofType(await second.events(runId), "run.finished")[0]?.payload.outcome).toBe(
      "succeeded",
    );
  });

  it("has one winner when both cancel, and the loser is told so", async () => {
    for (let round = 0; round < 5; round++) {
      ticks = 0;
      await using mandate = await openEngine({ ...options, model: endless });
      const { runId, result } = await mandate.start({ task: "go", profile: "lead" });
      await until("some ticks", () => ticks > round);
      const second = await mandate.another({ ...options, model: endless });
      const outcomes = await Promise.all([
        second.engine.cancel(runId, "theirs"),
        mandate.engine.cancel(runId, "ours"),
      ]);
      expect([...outcomes].sort()).toEqual(["already_terminal", "cancelled"]);
      expect((await result).status).toBe("cancelled");
      expect(ofType(await second.events(runId), "run.finished")).toHaveLength(1);
    }
  });
});

describe("fault 15: a cancel by another process that races the end", () => {
  it.each([0, 1, 2, 4, 8, 16, 32, 64])(
    "has one winner, and the caller hears of it (%i microtasks apart)",
    async (apart) => {
      let cancelling: Promise<string> | undefined;
      let second: TestEngine | undefined;
      let runId = "";
      await using mandate = await openEngine({
        ...options,
        async model() {
          await until("both processes", () => second !== undefined && runId !== "");
          cancelling = second?.engine.cancel(runId, "too late?");
          for (let tick = 0; tick < apart; tick++) await null;
          return "finished";
        },
      });
      second = await mandate.another({ ...options, model: endless });
      const started = await mandate.start({ task: "go", profile: "worker" });
      runId = started.runId;
      const result = await started.result;
      const outcome = await cancelling;
      const finished = ofType(await mandate.events(runId), "run.finished");
      expect(finished).toHaveLength(1);
      if (outcome === "cancelled") expect(result).toMatchObject({ status: "cancelled" });
      else expect([outcome, result]).toMatchObject(["already_terminal", { status: "completed" }]);
    },
  );
});

describe("a process that lost its run to another", () => {
  it("stops, writes nothing more, and tells its caller how the run ended there", async ({
    skip,
  }) => {
    skip(isDistributed, notOffered.ownership);
    ticks = 0;
    await using mandate = await openEngine({ ...options, model: endless });
    const { runId, result } = await mandate.start({ task: "go", profile: "lead" });
    await until("some ticks", () => ticks > 2);
    // As if it had been stopped for so long that it was taken for dead.
    const second = await mandate.another({ ...options, model: endless });
    const run = await second.store.readRun(runId);
    const claim = { worker: second.store.ownership.worker, fence: (run?.fence ?? 0) + 1 };
    const events = [{ type: "run.resumed" as const, payload: claim }];
    await second.store.append({ runId, by: claim, events });
    const taken = (await second.events(runId)).length;
    await until("it has let go", () => mandate.engine.liveRuns.length === 0);
    const ticked = ticks;
    await runElsewhere(mandate);
    expect(ticks).toBe(ticked);
    expect((await second.events(runId)).length).toBe(taken);
    expect(await second.engine.cancel(runId, "ended there")).toBe("cancelled");
    expect(await result).toMatchObject({ status: "cancelled", result: "ended there" });
  });
});
