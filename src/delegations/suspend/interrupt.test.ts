import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { StoredEvent } from "../../events/event.ts";
import type { Script } from "../../models/scripted/scripted-model.ts";
import { isDistributed, notOffered } from "../../testing/alter-database.test-support.ts";
import { ofType, openEngine, type TestEngine, testProfile } from "../../testing/engine-fixture.ts";
import { initRepository } from "../../testing/git-workspace.test-support.ts";
import { HeldClock } from "../../testing/held-clock.test-support.ts";
import { until } from "../../testing/until.ts";
import { busy } from "../busy-tool.test-support.ts";
import { testDeaths } from "./interrupt-deaths.test-support.ts";
import {
  agentsOf,
  delegate,
  isRunPaused,
  openWith,
  profiles,
  Scene,
  startScene,
  statesOf,
  turnsOf,
} from "./interrupt-scene.test-support.ts";

const begins = new Set(["agent.tool_started", "agent.budget_reserved", "agent.subagent_created"]);

function begun(events: readonly StoredEvent[]): readonly string[] {
  return events.filter(({ type }) => begins.has(type)).map(({ type }) => type);
}

describe("an interrupt", () => {
  it("cancels everything where no contract says otherwise", async () => {
    const scene = new Scene(delegate("ender", "a"), delegate("ender", "nest b"));
    await using mandate = await openWith(scene);
    const { result, runId } = await startScene(mandate, 4);
    expect(await mandate.engine.interrupt(runId, "enough")).toMatchObject({ outcome: "cancelled" });
    expect(await result).toMatchObject({ closeReason: "cancelled", result: "enough" });
    const events = await mandate.events(runId);
    expect(ofType(events, "agent.interrupted")).toEqual([]);
    const again = await mandate.engine.interrupt(runId, "again").catch((error) => error);
    expect(again.code ?? again.outcome).toMatch(/unknown-run|already_terminal/);
  });

  it("lets a child that continues come to its end, and its caller takes no further turn", async () => {
    const scene = new Scene(delegate("goer", "a"), delegate("ender", "b"));
    await using mandate = await openWith(scene);
    const { delegationId, result, runId } = await startScene(mandate, 3);
    const { outcome, settled } = await mandate.engine.interrupt(runId, "I have to go");
    expect(outcome).toBe("continuing");
    expect(await statesOf(mandate, runId)).toMatchObject({ lead: "child", ender: "cancelled" });
    const turns = turnsOf(scene, "goer");
    await until("it works on", () => turnsOf(scene, "goer") > turns + 2);
    scene.mayStop = true;
    await settled;
    expect(await result).toMatchObject({ closeReason: "cancelled", result: "I have to go" });
    expect(await statesOf(mandate, runId)).toEqual({
      lead: "cancelled",
      goer: "report_accepted",
      ender: "cancelled",
    });
    expect(scene.asked.filter((who) => who === "lead")).toHaveLength(1);
    const events = await mandate.events(runId);
    const [goer] = (await agentsOf(mandate, runId)).filter(({ profile }) => profile === "goer");
    // Its result is sealed, and given to nobody.
    const late = ofType(events, "run.late_result").map(({ payload }) => payload);
    expect(late.filter(({ sub_agent_id: id }) => id === goer?.id)).toMatchObject([
      { detail: expect.stringMatching(/kept, not delivered/) },
    ]);
    const delivered = ofType(events, "agent.tool_completed", delegationId);
    expect(delivered.flatMap(({ payload }) => payload.delivered ?? [])).toEqual([]);
    expect(events.at(-1)?.type).toBe("run.finished");
    expect(mandate.parts.scheduler.running).toBe(0);
  });

  it("leaves the children of one that continues to it", async () => {
    const scene = new Scene(delegate("goer", "nest a"));
    await using mandate = await openWith(scene);
    const { result, runId } = await startScene(mandate, 3);
    expect((await mandate.engine.interrupt(runId, "bye")).outcome).toBe("continuing");
    const turns = turnsOf(scene, "leaf");
    await until("the one below works on", () => turnsOf(scene, "leaf") > turns + 2);
    expect(await statesOf(mandate, runId)).toMatchObject({
      leaf: expect.stringMatching(/^(tool|model|runtime)$/),
    });
    scene.mayStop = true;
    await result;
    const found = await mandate.engine.resultOf(runId);
    expect(found?.subDelegations?.[0]).toMatchObject({
      status: "completed",
      subDelegations: [{ status: "completed", result: "below is done" }],
    });
  });

  it("pauses a child with everybody below it, and nothing begins until it is resumed", async () => {
    const scene = new Scene(delegate("rester", "nest a"));
    await using mandate = await openWith(scene);
    const { result, runId } = await startScene(mandate, 3);
    expect((await mandate.engine.interrupt(runId, "later")).outcome).toBe("paused");
    const paused = await mandate.events(runId);
    expect(await statesOf(mandate, runId)).toEqual({
      lead: "paused",
      rester: "paused",
      leaf: "paused",
    });
    expect(mandate.engine.liveRuns).toEqual([]);
    expect(mandate.parts.scheduler.running).toBe(0);
    expect(await mandate.engine.recover()).toEqual([]);
    // Another run comes to its end meanwhile.
    await mandate.run({ task: "elsewhere", profile: "leaf" });
    expect(await mandate.events(runId)).toEqual(paused);
    const [first] = ofType(paused, "agent.interrupted");
    const after = paused.filter(({ seq }) => seq > (ofType(paused, "agent.paused")[0]?.seq ?? 0));
    expect(first?.payload).toEqual({
      cause: { code: "cancelled", text: "later" },
      reason: "later",
      closes_as: "cancelled",
    });
    expect(begun(after)).toEqual([]);
    scene.mayStop = true;
    const [resumed] = await mandate.engine.recover(runId);
    expect(resumed?.runId).toBe(runId);
    expect(await resumed?.result).toMatchObject({ status: "completed", result: "heard 1" });
    // Who started it is told as well.
    expect(await result).toMatchObject({ status: "completed", result: "heard 1" });
    expect(await statesOf(mandate, runId)).toEqual({
      lead: "report_accepted",
      rester: "report_accepted",
      leaf: "report_accepted",
    });
  });

  it("treats each child as its own contract says, and rests when one of them does", async () => {
    const scene = new Scene(delegate("ender", "a"), delegate("goer", "b"), delegate("rester", "c"));
    await using mandate = await openWith(scene);
    const { result, runId } = await startScene(mandate, 4);
    const { outcome, settled } = await mandate.engine.interrupt(runId, "mixed");
    expect(outcome).toBe("continuing");
    expect(await statesOf(mandate, runId)).toMatchObject({ ender: "cancelled", rester: "paused" });
    expect(await isRunPaused(mandate, runId)).toBe(false);
    scene.mayStop = true;
    await settled;
    expect(await statesOf(mandate, runId)).toEqual({
      lead: "paused",
      ender: "cancelled",
      goer: "report_accepted",
      rester: "paused",
    });
    await mandate.engine.recover(runId);
    // What was given to nobody then is there when its caller goes on.
    expect(await result).toMatchObject({ status: "completed", result: "heard 3" });
  });

  it("can be said twice, and paused and resumed as often as one likes", async () => {
    const scene = new Scene(delegate("rester", "a"));
    await using mandate = await openWith(scene);
    const { result, runId } = await startScene(mandate, 2);
    for (let times = 0; times < 3; times++) {
      const said = [mandate.engine.interrupt(runId, "1"), mandate.engine.interrupt(runId, "2")];
      await Promise.allSettled(said);
      expect(await isRunPaused(mandate, runId)).toBe(true);
      const resumed = await Promise.all([
        mandate.engine.recover(runId),
        mandate.engine.recover(runId),
      ]);
      expect(resumed.flat()).toHaveLength(1);
      const { length } = scene.asked;
      await until("it works on", () => scene.asked.length > length + 1);
    }
    scene.mayStop = true;
    expect(await result).toMatchObject({ status: "completed" });
    const events = await mandate.events(runId);
    expect(ofType(events, "agent.interrupted")).toHaveLength(3);
  });

  it("is of a whole run: for one of its agents there is cancel", async () => {
    const scene = new Scene(delegate("rester", "a"));
    await using mandate = await openWith(scene);
    const { runId } = await startScene(mandate, 2);
    const child = (await agentsOf(mandate, runId))[1]?.id ?? "";
    await expect(mandate.engine.interrupt(child, "no")).rejects.toMatchObject({ code: "usage" });
    await expect(mandate.engine.interrupt("rffffff", "no")).rejects.toMatchObject({
      code: "unknown-run",
    });
    await mandate.engine.cancel(runId, "done");
  });

  it("pauses children that still wait for a slot, and these start when they are resumed", async () => {
    const calls = ["a", "b", "c"].map((task) => delegate("rester", task));
    const scene = new Scene(...calls);
    const options = { profiles, tools: [busy], model: scene.model, maxConcurrent: 1 };
    await using mandate = await openEngine(options);
    const { result, runId } = await mandate.start({ task: "go", profile: "lead" });
    await until("one child is at work", async () =>
      (await agentsOf(mandate, runId)).some(({ turns }, at) => at > 0 && turns > 0),
    );
    expect((await mandate.engine.interrupt(runId, "later")).outcome).toBe("paused");
    const agents = await agentsOf(mandate, runId);
    expect(agents.map((one) => one.status === "running" && one.waitingOn.on)).toEqual(
      Array(4).fill("paused"),
    );
    scene.mayStop = true;
    await mandate.engine.recover(runId);
    expect(await result).toMatchObject({ status: "completed", result: "heard 3" });
  });
});

describe("a watcher of a run that rests", () => {
  it("rests with it, and looks on again when it goes on", async () => {
    const scene = new Scene(delegate("rester", "a"));
    const eye = testProfile("eye", { capabilities: ["watcher"], tools: [] });
    const model: Script = (request) =>
      request.caller.profile === "eye" ? "nothing" : scene.model(request);
    const limits = { watchIntervalMs: 5 };
    await using mandate = await openEngine({
      profiles: [...profiles, eye],
      tools: [busy],
      model,
      limits,
    });
    const request = { task: "go", profile: "lead", watchers: ["eye"] };
    const { result, runId } = await mandate.start(request);
    const turnsTaken = async (who: string) =>
      (await agentsOf(mandate, runId)).find(({ profile }) => profile === who)?.turns ?? 0;
    await until(
      "both are at work",
      async () => (await turnsTaken("eye")) > 0 && (await turnsTaken("rester")) > 1,
    );
    expect((await mandate.engine.interrupt(runId, "later")).outcome).toBe("paused");
    expect(await statesOf(mandate, runId)).toMatchObject({ eye: "paused", lead: "paused" });
    const before = await turnsTaken("eye");
    scene.mayStop = true;
    await mandate.engine.recover(runId);
    expect(await result).toMatchObject({ status: "completed" });
    expect(await turnsTaken("eye")).toBeGreaterThanOrEqual(before);
  });
});

describe("a cancel", () => {
  it("covers the whole tree, whatever the contracts of children say of an interrupt", async () => {
    const scene = new Scene(delegate("goer", "nest a"), delegate("rester", "b"));
    await using mandate = await openWith(scene);
    const { result, runId } = await startScene(mandate, 4);
    expect(await mandate.engine.cancel(runId, "all of it")).toBe("cancelled");
    expect(await result).toMatchObject({ closeReason: "cancelled" });
    expect(new Set(Object.values(await statesOf(mandate, runId)))).toEqual(new Set(["cancelled"]));
  });

  it("ends a run that was interrupted: those who go on, and those who rest", async () => {
    const scene = new Scene(delegate("goer", "a"), delegate("rester", "nest b"));
    await using mandate = await openWith(scene);
    const { result, runId } = await startScene(mandate, 4);
    expect((await mandate.engine.interrupt(runId, "later")).outcome).toBe("continuing");
    expect(await mandate.engine.cancel(runId, "never mind")).toBe("cancelled");
    expect(await result).toMatchObject({ closeReason: "cancelled", result: "never mind" });
    expect(new Set(Object.values(await statesOf(mandate, runId)))).toEqual(new Set(["cancelled"]));
  });

  it("ends a run that rests, though nobody works on it", async () => {
    const scene = new Scene(delegate("rester", "a"));
    await using mandate = await openWith(scene);
    const { result, runId } = await startScene(mandate, 2);
    await mandate.engine.interrupt(runId, "later");
    expect(await mandate.engine.cancel(runId, "never mind")).toBe("cancelled");
    expect(await result).toMatchObject({ closeReason: "cancelled", result: "never mind" });
  });
});

describe("a run that rests", () => {
  it("holds no tokens back, and spends none", async () => {
    const scene = new Scene(delegate("rester", "a"), delegate("goer", "b"));
    const slow: Script = (request) => {
      const reply = scene.model(request);
      // Cut in the middle of a request.
      return request.caller.profile === "rester" && request.caller.turn > 2
        ? { fault: "stall" }
        : reply;
    };
    await using mandate = await openEngine({ profiles, tools: [busy], model: slow });
    const { runId } = await startScene(mandate, 3);
    const rester = (await agentsOf(mandate, runId)).find(({ profile }) => profile === "rester");
    await until("its third request is under way", async () => {
      const now = (await agentsOf(mandate, runId)).find(({ id }) => id === rester?.id);
      return now?.status === "running" && now.waitingOn.on === "model" && now.turns === 2;
    });
    await mandate.engine.interrupt(runId, "later");
    const resting = (await agentsOf(mandate, runId)).find(({ id }) => id === rester?.id);
    expect(resting).toMatchObject({ status: "running", reservations: [] });
    const events = await mandate.events(runId);
    const last = ofType(events, "agent.budget_settled", rester?.id).at(-1);
    expect(last?.payload).toMatchObject({ estimated: true });
    await mandate.engine.cancel(runId, "enough");
  });

  it("uses no time of its deadlines", async () => {
    const scene = new Scene(delegate("rester", "a"));
    const clock = new HeldClock();
    const options = { clock, profiles, tools: [busy], model: scene.model };
    await using mandate = await openEngine(options);
    const started = await mandate.start({ task: "go", profile: "lead", timeoutMs: 1500 });
    const { result, runId } = started;
    await until(
      "two turns of the child",
      async () => ((await agentsOf(mandate, runId))[1]?.turns ?? 0) > 1,
    );
    await mandate.engine.interrupt(runId, "later");
    clock.pass(1600);
    await mandate.engine.recover(runId);
    const { length } = scene.asked;
    await until("it works on", () => scene.asked.length > length + 2);
    // Nor after a crash, when the time used is worked out from the log.
    mandate.abandon();
    const after = await mandate.another(options);
    scene.mayStop = true;
    const [taken] = await after.engine.recover();
    expect(await taken?.result).toMatchObject({ status: "completed" });
    void result;
  });

  it("is left alone by whoever starts next, and goes on in another process when it is named", async () => {
    const scene = new Scene(delegate("rester", "nest a"));
    await using mandate = await openWith(scene);
    const { result, runId } = await startScene(mandate, 3);
    await mandate.engine.interrupt(runId, "later");
    const other = await mandate.another({ profiles, tools: [busy], model: scene.model });
    expect(await other.engine.recover()).toEqual([]);
    scene.mayStop = true;
    // The process that paused it lives on.
    const [taken] = await other.engine.recover(runId);
    expect(await taken?.result).toMatchObject({ status: "completed", result: "heard 1" });
    expect(await result).toMatchObject({ status: "completed", result: "heard 1" });
  });

  it("takes an answer, and does not go on because of it", async () => {
    const ask = { tool: "ask_user", input: { message: "Which one?" } };
    const model: Script = ({ caller, messages }) => {
      if (caller.turn > 1) return `was told ${messages.at(-1)?.text ?? ""}`;
      return { calls: [caller.profile === "lead" ? delegate("asker", "ask") : ask] };
    };
    const asker = testProfile("asker", { tools: ["ask_user"], onParentInterrupt: "pause" });
    await using mandate = await openEngine({ profiles: [...profiles, asker], model });
    const { result, runId } = await mandate.start({ task: "go", profile: "lead" });
    const asked = async () => ofType(await mandate.events(runId), "agent.asked")[0]?.payload;
    await until("the question", asked);
    expect((await mandate.engine.interrupt(runId, "later")).outcome).toBe("paused");
    expect(await mandate.engine.answer((await asked())?.ask_id ?? "", "the red one")).toBe(true);
    expect(await statesOf(mandate, runId)).toMatchObject({ asker: "paused", lead: "paused" });
    await mandate.engine.recover(runId);
    expect((await result).subDelegations?.[0]?.result).toContain("the red one");
  });
});

// Odd, so that those who go on come to their end after some of the deaths, and not after others.
testDeaths(5);

describe("a session of another program that ends", () => {
  const call = (profile: string) => ({ profile, task: profile });

  it("leaves those who continue to their end, and ends after them", async () => {
    const scene = new Scene();
    await using mandate = await openWith(scene);
    const session = await mandate.engine.openSession({ client: "other" });
    const calls = ["goer", "ender"].map((who) => session.call("spawn", call(who)));
    await Promise.all(calls);
    await until("both are asked", () => turnsOf(scene, "goer") > 0 && turnsOf(scene, "ender") > 0);
    await session.close();
    await session.close();
    expect(await statesOf(mandate, session.runId)).toMatchObject({ ender: "cancelled" });
    const { length } = scene.asked;
    await until("they work on", () => scene.asked.length > length + 2);
    scene.mayStop = true;
    await until(
      "the session ends",
      async () => (await mandate.store.readRun(session.runId))?.outcome !== null,
    );
    const ends = Object.values(await statesOf(mandate, session.runId));
    expect(ends.sort()).toEqual(["cancelled", "report_accepted", "report_accepted"]);
    await expect(session.call("spawn", call("goer"))).rejects.toThrow();
  });

  it("and takes its process with it leaves those who continue to the next one", async ({
    skip,
  }) => {
    skip(isDistributed, notOffered.session);
    for (const isPolite of [true, false]) {
      const scene = new Scene();
      await using mandate = await openWith(scene);
      const session = await mandate.engine.openSession({ client: "other" });
      await session.call("spawn", call("goer"));
      await until("some turns", () => scene.asked.length > 2);
      if (isPolite) await session.close();
      mandate.abandon();
      scene.mayStop = true;
      const next = await mandate.another({ profiles, tools: [busy], model: scene.model });
      const [taken] = await next.engine.recover();
      const reason = isPolite ? "report_accepted" : "parent_crash";
      expect(await taken?.result).toMatchObject({ closeReason: reason });
      expect(await statesOf(next, session.runId)).toMatchObject({ goer: "report_accepted" });
    }
  });

  it("rests with those who pause; resumed, they go on without it, also after a crash", async ({
    skip,
  }) => {
    skip(isDistributed, notOffered.session);
    const scene = new Scene();
    await using mandate = await openWith(scene);
    const session = await mandate.engine.openSession({ client: "other" });
    await session.call("spawn", call("rester"));
    await until("some turns", () => scene.asked.length > 2);
    await session.close();
    expect(await isRunPaused(mandate, session.runId)).toBe(true);
    await mandate.engine.recover(session.runId);
    const { length } = scene.asked;
    await until("they work on", () => scene.asked.length > length + 2);
    mandate.abandon();
    scene.mayStop = true;
    const next = await mandate.another({ profiles, tools: [busy], model: scene.model });
    const [taken] = await next.engine.recover();
    expect(await taken?.result).toMatchObject({ closeReason: "report_accepted" });
    expect(await statesOf(next, session.runId)).toMatchObject({ rester: "report_accepted" });
  });
});

describe("work in copies", () => {
  const writers = [
    testProfile("boss", { capabilities: ["primary", "subtask"], tools: "*" }),
    testProfile("goer", { tools: ["write_file"], onParentInterrupt: "continue" }),
    testProfile("rester", { tools: ["write_file"], onParentInterrupt: "pause" }),
  ];
  const read = (mandate: TestEngine, path: string): string =>
    readFileSync(join(mandate.workspace, path), "utf8");

  function writing(held: Set<string>, ...roots: readonly object[]): Script {
    return ({ caller }) => {
      const { profile, task, turn } = caller;
      if (profile === "boss") return turn === 1 ? { calls: roots as never } : "all done";
      if (turn === 1)
        return { calls: [{ tool: "write_file", input: { path: `${task}.txt`, content: task } }] };
      return held.has(task) ? { fault: "stall" } : `${task} is done`;
    };
  }

  it("of those who continue is taken over, whoever asks for it", async () => {
    const spawn = { tool: "spawn", input: { profile: "goer", task: "a" } };
    const wait = { tool: "delegate_task", input: { profile: "goer", task: "b" } };
    const held = new Set(["b"]);
    const model = writing(held, spawn, wait);
    await using mandate = await openEngine({ profiles: writers, model });
    initRepository(mandate.workspace, { "x.txt": "x\n" });
    const { workspace } = mandate;
    const { runId } = await mandate.start({ task: "go", profile: "boss", workspace });
    await until("one waits for its merge", async () =>
      (await agentsOf(mandate, runId)).some(({ status }) => status === "waiting_for_merge"),
    );
    expect((await mandate.engine.interrupt(runId, "bye")).outcome).toBe("continuing");
    await until("it is closed", async () =>
      (await agentsOf(mandate, runId)).some(({ status }) => status === "closed"),
    );
    expect(read(mandate, "a.txt")).toBe("a");
    await mandate.engine.cancel(runId, "enough");
  });

  it("that stands behind one that rests waits for it, and comes after it", async () => {
    const held = new Set(["first"]);
    const model = writing(
      held,
      { tool: "delegate_task", input: { profile: "rester", task: "first" } },
      { tool: "delegate_task", input: { profile: "goer", task: "second" } },
    );
    await using mandate = await openEngine({ profiles: writers, model });
    initRepository(mandate.workspace, { "x.txt": "x\n" });
    const { workspace } = mandate;
    const { result, runId } = await mandate.start({ task: "go", profile: "boss", workspace });
    await until("both have had a turn", async () => {
      const agents = await agentsOf(mandate, runId);
      return agents.length === 3 && agents.slice(1).every(({ turns }) => turns > 0);
    });
    await (await mandate.engine.interrupt(runId, "later")).settled;
    expect(await statesOf(mandate, runId)).toEqual({
      boss: "paused",
      rester: "paused",
      goer: "waiting_for_merge",
    });
    held.clear();
    await mandate.engine.recover(runId);
    expect(await result).toMatchObject({ status: "completed" });
    expect([read(mandate, "first.txt"), read(mandate, "second.txt")]).toEqual(["first", "second"]);
  });
});
