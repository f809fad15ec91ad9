import { describe, expect, it } from "vitest";
import { isPaused } from "../../events/run-state.ts";
import type { Script } from "../../models/scripted/scripted-model.ts";
import type { Dispatcher } from "../../ports/workers.ts";
import { isDistributed, notOffered } from "../../testing/alter-database.test-support.ts";
import { ofType, openEngine, type TestEngine, testProfile } from "../../testing/engine-fixture.ts";
import { until } from "../../testing/until.ts";
import { busy } from "../busy-tool.test-support.ts";
import {
  agentsOf,
  delegate,
  openWith,
  profiles,
  Scene,
  startScene,
  statesOf,
} from "../suspend/interrupt-scene.test-support.ts";

const spawn = (profile: string, task: string) => ({ profile, task });

describe("new limits", () => {
  const profile = testProfile("worker", { tools: ["list_files"], workspace: {} });
  const hanging: Script = () => ({ fault: "hang" });

  async function interrupted(): Promise<{ mandate: TestEngine; next: TestEngine; runId: string }> {
    const mandate = await openEngine({ profiles: [profile], model: hanging });
    const limits = { maxTokens: 20_000, timeoutMs: 60_000 };
    const { workspace } = mandate;
    const started = await mandate.start({ task: "go", profile: "worker", workspace, ...limits });
    await until(
      "it is at work",
      async () => (await agentsOf(mandate, started.runId))[0]?.turns === 0,
    );
    mandate.abandon();
    const next = await mandate.another({ profiles: [profile], model: () => "done" });
    return { mandate, next, runId: started.runId };
  }

  it.each([
    [{ maxTokens: 30_000 }, "20000 tokens"],
    [{ maxCost: 2 }, "no limit in dollars"],
    [{ timeoutMs: 1000 }, "60000 ms"],
  ])("%j are refused for a run that continues, whose contract is fixed", async (limits, fixed) => {
    const { mandate, next, runId } = await interrupted();
    await using _ = mandate;
    await expect(next.engine.resume(runId, undefined, limits)).rejects.toMatchObject({
      code: "usage",
      message: expect.stringContaining(`${runId} has not ended: it continues under its contract`),
    });
    const refusal = await next.engine.resume(runId, undefined, limits).catch((error) => error);
    expect(refusal.message).toContain(fixed);
    // Nothing was taken over by that.
    expect(ofType(await next.events(runId), "run.resumed")).toEqual([]);
    const agreed = { maxTokens: 20_000, timeoutMs: 60_000 };
    const resumed = await next.engine.resume(runId, undefined, agreed);
    expect(resumed).toMatchObject({ runId, as: "same" });
    expect(await resumed.result).toMatchObject({ status: "completed", result: "done" });
  });

  it("hold for a new run", async () => {
    const { mandate, next, runId } = await interrupted();
    await using _ = mandate;
    await next.engine.cancel(runId, "enough");
    const limits = { maxTokens: 30_000, timeoutMs: 5000 };
    const resumed = await next.engine.resume(runId, undefined, limits);
    expect(resumed.as).toBe("new");
    const { budget, deadlines } = await next.store.readContract(resumed.delegationId);
    expect([budget.tokens, deadlines.total]).toEqual([30_000, 5000]);
    await resumed.result;
  });

  it("of a place where nothing may be written keep a run that may write from continuing", async () => {
    const writer = testProfile("writer", { tools: ["write_file"] });
    await using mandate = await openEngine({ profiles: [writer], model: hanging });
    const { workspace } = mandate;
    const { runId } = await mandate.start({ task: "go", profile: "writer", workspace });
    mandate.abandon();
    const next = await mandate.another({ profiles: [writer], model: () => "done" });
    const refused = next.engine.resume(runId, undefined, { readOnly: true });
    await expect(refused).rejects.toMatchObject({ code: "refused-by-policy" });
    expect(await (await next.engine.resume(runId)).result).toMatchObject({ status: "completed" });
  });
});

describe("a run", () => {
  it("of another application is left to that, with the way there", async () => {
    const model: Script = () => ({ fault: "hang" });
    const tools = [busy];
    await using mandate = await openEngine({ profiles, tools, model, application: "one" });
    const { runId } = await mandate.start({ task: "go", profile: "leaf" });
    mandate.abandon();
    const next = await mandate.another({ profiles, tools, model, application: "other" });
    await expect(next.engine.resume(runId)).rejects.toMatchObject({
      code: "not-resumable",
      message: expect.stringMatching(/application "one".*works for "other".*mandate resume/),
    });
    await next.engine.cancel(runId, "enough");
  });

  it("that two resume at once continues once, and the other is told who has it", async () => {
    const scene = new Scene(delegate("rester", "a"));
    await using mandate = await openWith(scene);
    const { result, runId } = await startScene(mandate, 2);
    await mandate.engine.interrupt(runId, "later");
    const both = [mandate.engine.resume(runId), mandate.engine.resume(runId)];
    const ends = await Promise.allSettled(both);
    const refused = ends.find(({ status }) => status === "rejected");
    expect(ends.map(({ status }) => status).sort()).toEqual(["fulfilled", "rejected"]);
    expect(refused).toMatchObject({
      reason: { code: "not-resumable", message: expect.stringMatching(`works? on ${runId}`) },
    });
    scene.mayStop = true;
    expect(await result).toMatchObject({ status: "completed" });
  });

  it("whose process was killed after an interrupt continues with everybody", async () => {
    const scene = new Scene(delegate("goer", "a"), delegate("rester", "b"));
    await using mandate = await openWith(scene);
    const { runId } = await startScene(mandate, 3);
    expect((await mandate.engine.interrupt(runId, "bye")).outcome).toBe("continuing");
    mandate.abandon();
    const next = await mandate.another({ profiles, tools: [busy], model: scene.model });
    scene.mayStop = true;
    const run = await next.store.readRun(runId);
    expect(run && isPaused(run)).toBe(false);
    const resumed = await next.engine.resume(runId);
    expect(await resumed.result).toMatchObject({ status: "completed", result: "heard 2" });
    expect(await statesOf(next, runId)).toEqual({
      lead: "report_accepted",
      goer: "report_accepted",
      rester: "report_accepted",
    });
  });

  it("whose process was killed after an interrupt is not woken by a recovery", async () => {
    const scene = new Scene(delegate("goer", "a"), delegate("rester", "b"));
    await using mandate = await openWith(scene);
    const { runId } = await startScene(mandate, 3);
    await mandate.engine.interrupt(runId, "bye");
    mandate.abandon();
    const next = await mandate.another({ profiles, tools: [busy], model: scene.model });
    scene.mayStop = true;
    await next.engine.recover();
    await until("it is paused", async () => {
      const run = await next.store.readRun(runId);
      return run !== undefined && isPaused(run);
    });
    expect(await statesOf(next, runId)).toMatchObject({
      goer: "report_accepted",
      rester: "paused",
    });
    expect(await (await next.engine.resume(runId)).result).toMatchObject({ status: "completed" });
  });
});

describe("the session of another program's agent", () => {
  it("whose process was killed continues with its sub-agents, whatever their contracts say of an interrupt", async ({
    skip,
  }) => {
    skip(isDistributed, notOffered.session);
    const scene = new Scene();
    await using mandate = await openWith(scene);
    const session = await mandate.engine.openSession({ client: "other" });
    for (const who of ["ender", "goer", "rester"]) await session.call("spawn", spawn(who, who));
    await until("all are asked", () => new Set(scene.asked).size === 3);
    mandate.abandon();
    const next = await mandate.another({ profiles, tools: [busy], model: scene.model });
    scene.mayStop = true;
    const resumed = await next.engine.resume(session.runId);
    expect(resumed).toMatchObject({ as: "same", runId: session.runId, refused: [] });
    expect(resumed.runs).toHaveLength(1);
    const children = (await agentsOf(next, session.runId)).slice(1).map(({ id }) => id);
    expect(resumed.agents).toEqual(children);
    // Its own agent is gone, and that is how its run ends.
    expect(await resumed.result).toMatchObject({ closeReason: "parent_crash" });
    expect(await statesOf(next, session.runId)).toMatchObject({
      ender: "report_accepted",
      goer: "report_accepted",
      rester: "report_accepted",
    });
    await expect(next.engine.resume(session.runId)).rejects.toThrow(
      `All of its sub-agents have completed; their results: mandate tree ${session.runId}`,
    );
  });

  it("that is recovered treats its sub-agents as their contracts say", async ({ skip }) => {
    skip(isDistributed, notOffered.session);
    const scene = new Scene();
    await using mandate = await openWith(scene);
    const session = await mandate.engine.openSession({ client: "other" });
    for (const who of ["ender", "goer"]) await session.call("spawn", spawn(who, who));
    await until("both are asked", () => new Set(scene.asked).size === 2);
    mandate.abandon();
    const next = await mandate.another({ profiles, tools: [busy], model: scene.model });
    scene.mayStop = true;
    const [recovered] = await next.engine.recover();
    await recovered?.result;
    expect(await statesOf(next, session.runId)).toMatchObject({
      ender: "cancelled",
      goer: "report_accepted",
    });
    const resumed = await next.engine.resume(session.runId);
    expect(resumed.runs).toMatchObject([{ as: "new" }]);
    expect(await resumed.result).toMatchObject({ profile: "ender", status: "completed" });
  });

  /** Sub-agents `a`, `b` and `c`; which of them hang is up to the test. */
  async function leftBehind() {
    const hanging = new Set(["a", "b", "c"]);
    const model: Script = ({ caller, messages }) => {
      if (hanging.has(caller.task)) return { fault: "stall" };
      return `${caller.task} after ${messages.filter(({ role }) => role === "user").length}`;
    };
    const mandate = await openEngine({ profiles, tools: [busy], model });
    const session = await mandate.engine.openSession({ client: "other" });
    for (const task of hanging) {
      await session.call("spawn", spawn(task === "b" ? "leaf" : "ender", task));
    }
    await until("all are at work", async () => {
      const agents = (await agentsOf(mandate, session.runId)).slice(1);
      return agents.every((one) => one.status === "running" && one.waitingOn.on === "model");
    });
    await session.close();
    return { mandate, hanging, runId: session.runId };
  }

  it("resumes what is left of it, and what was resumed already neither twice nor from its beginning", async () => {
    const { hanging, mandate, runId } = await leftBehind();
    await using _ = mandate;
    const { engine } = mandate;
    hanging.delete("a");
    const first = await engine.resume(runId);
    expect(first.runs.map(({ as }) => as)).toEqual(["new", "new", "new"]);
    expect(await first.result).toMatchObject({ status: "completed", result: "a after 2" });
    // One of the three has completed, one failed again, and one is at work.
    const [, second, third] = first.runs;
    await engine.cancel(second?.runId ?? "", "enough");
    hanging.delete("b");
    const again = await engine.resume(runId);
    expect(again.runs).toHaveLength(1);
    expect(again.from).toBe(second?.delegationId);
    expect(await again.result).toMatchObject({ status: "completed", result: "b after 3" });
    await expect(engine.resume(runId)).rejects.toThrow(
      `were resumed, and continue in ${third?.runId}.`,
    );
    await engine.cancel(third?.runId ?? "", "enough");
    hanging.clear();
    expect(await (await engine.resume(runId)).result).toMatchObject({ result: "c after 3" });
  });

  it("resumes those that can be, and says which could not and why", async () => {
    const { hanging, mandate, runId } = await leftBehind();
    await using _ = mandate;
    hanging.clear();
    const [, a, b] = await agentsOf(mandate, runId);
    const fewer = profiles.filter(({ name }) => name !== "leaf");
    const model: Script = () => "done";
    const next = await mandate.another({ profiles: fewer, tools: [busy], model });
    const resumed = await next.engine.resume(runId);
    expect(resumed.from).toBe(a?.id);
    expect(resumed.runs).toHaveLength(2);
    expect(resumed.refused).toEqual([
      { delegationId: b?.id, reason: expect.stringContaining("no profile 'leaf'") },
    ]);
    for (const { result } of resumed.runs) expect((await result).status).toBe("completed");
  });

  it("that no sub-agent worked for has nothing to resume", async () => {
    await using mandate = await openEngine({ profiles, model: () => "done" });
    const session = await mandate.engine.openSession({ client: "other" });
    await session.close();
    await expect(mandate.engine.resume(session.runId)).rejects.toThrow(
      "it had no sub-agents: there is nothing to resume",
    );
  });
});

describe("a distributed run that no worker works on", () => {
  const tools = [busy];
  const nowhere: Dispatcher = { dispatch: async () => undefined };
  const model: Script = () => ({ fault: "hang" });

  it("is sent to workers again, and refused where nothing can be sent", async ({ skip }) => {
    skip(isDistributed, notOffered.ownership);
    await using mandate = await openEngine({ profiles, tools, model, dispatcher: nowhere });
    const { runId } = await mandate.start({ task: "go", profile: "leaf" });
    mandate.abandon();
    const local = await mandate.another({ profiles, tools, model });
    await expect(local.engine.resume(runId)).rejects.toThrow(
      `${runId} is distributed, and no worker works on it. Start one: mandate worker`,
    );
    const sent: string[] = [];
    const dispatcher: Dispatcher = {
      dispatch: async ({ delegationId }) => void sent.push(delegationId),
    };
    const client = await mandate.another({ profiles, tools, model, dispatcher });
    const resumed = await client.engine.resume(runId);
    expect(resumed).toMatchObject({ as: "same", runId });
    expect(sent).toEqual([resumed.delegationId]);
    await client.engine.cancel(runId, "enough");
  });

  it("of another program's agent ends, and its sub-agents continue as runs of their own", async () => {
    await using mandate = await openEngine({ profiles, tools, model, dispatcher: nowhere });
    const session = await mandate.engine.openSession({ client: "other" });
    await session.call("spawn", spawn("leaf", "a"));
    mandate.abandon();
    const client = await mandate.another({ profiles, tools, model, dispatcher: nowhere });
    const resumed = await client.engine.resume(session.runId);
    expect(resumed).toMatchObject({ as: "new", runs: [{ as: "new" }] });
    expect(await statesOf(client, session.runId)).toMatchObject({ leaf: "parent_crash" });
    await client.engine.cancel(resumed.runId, "enough");
  });
});
