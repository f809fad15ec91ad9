import { rmSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { ForgedLog, type LooseEvent } from "../events/checker/forged-log.test-support.ts";
import type { RunState } from "../events/run-state.ts";
import { isDistributed, isOnPostgres, notOffered } from "../testing/alter-database.test-support.ts";
import { ofType, openEngine, type TestEngine, testProfile } from "../testing/engine-fixture.ts";
import { until } from "../testing/until.ts";
import { Desk } from "./cli/desk.test-support.ts";
import { openApi } from "./http/routes/api.test-support.ts";

const options = { profiles: [testProfile("coder")], model: () => "Done." };

/** An agent of a program that calls itself as one of our profiles is called has that one work. */
async function haveWork(engine: TestEngine): Promise<RunState> {
  const session = await engine.engine.openSession({ client: "coder" });
  await session.call("spawn_subagent", { agentId: "coder", prompt: "work" });
  await session.close();
  return until("the session is over", async () => {
    const run = await engine.store.readRun(session.runId);
    return run !== undefined && run.outcome !== null && run;
  });
}

async function replay({ home }: TestEngine, runId: string): Promise<string> {
  const desk = new Desk();
  const { out, err } = await desk.type(["replay", runId], { environment: { MANDATE_HOME: home } });
  desk.clear();
  return out + err;
}

describe("an agent of another program", () => {
  it("has a profile name that no profile has, and its program's name beside it", async ({
    skip,
  }) => {
    await using api = await openApi(options);
    const { client, engine } = api;
    const { id: runId } = await haveWork(engine);
    const events = await engine.events(runId);
    const created = ofType(events, "agent.subagent_created");
    expect(created.map(({ payload }) => [payload.profile, payload.client])).toEqual([
      ["external", "coder"],
      ["coder", undefined],
    ]);
    const [root = "", child = ""] = created.map(({ sub_agent_id: id }) => id);
    const contract = await engine.store.readContract(root);
    expect(contract.profile.id).toBe("external");
    expect(contract.model).toMatchObject({ provider: "external", model: "coder" });
    const listed = async (profile: string) =>
      (await client.listDelegations({ profile })).items.map((one) => one.delegationId);
    expect(await listed("coder")).toEqual([child]);
    expect(await listed("external")).toEqual([root]);
    if (isDistributed) skip(notOffered.replay);
    expect(await replay(engine, runId)).toMatch(/2 delegations: the same/);
  });

  it("is shown by its program's name wherever people look", async () => {
    await using api = await openApi(options);
    const { client, engine } = api;
    const { id: runId } = await haveWork(engine);
    const { tree } = await client.getRun({ runId });
    const known = { profile: "external", client: "coder" };
    expect(tree[0]).toMatchObject(known);
    const delegationId = tree[0]?.delegationId ?? "";
    expect(await client.getDelegation({ delegationId })).toMatchObject({ ...known, result: known });
    expect((await client.listSessions()).items).toMatchObject([known]);
    const { context } = await client.getSession({ sessionId: delegationId });
    expect(context).toMatchObject({ agentId: "coder", trigger: { by: "program", name: "coder" } });
    const desk = new Desk();
    const type = async (...words: readonly string[]) => {
      const { code, out } = await desk.type(words, { environment: { MANDATE_HOME: engine.home } });
      expect(code).toBe(0);
      return out;
    };
    const who = new RegExp(`coder +${delegationId}`);
    expect(await type("tree", runId)).toMatch(who);
    expect(await type("show", delegationId)).toMatch(who);
    expect(await type("logs", runId)).toMatch(/created as coder: Session of coder/);
    expect(await type("sessions", "--all")).toMatch(new RegExp(`${delegationId}.* coder`));
    expect(await type("sessions", "show", delegationId)).toMatch(/^coder as primary/m);
    for (const words of [
      ["tree", runId],
      ["show", runId],
      ["sessions", "--all"],
    ]) {
      expect(await type(...words)).not.toContain("external");
    }
    desk.clear();
  });

  it("keeps the name that an earlier version recorded as its profile's", async ({ skip }) => {
    if (isOnPostgres || isDistributed) skip(notOffered.replay);
    await using engine = await openEngine(options);
    const { id: runId } = await haveWork(engine);
    await engine.close();
    const asBefore = (event: LooseEvent): LooseEvent => {
      if (event.type !== "agent.subagent_created") return event;
      const { client, ...payload } = event.payload;
      return client === undefined ? event : { ...event, payload: { ...payload, profile: client } };
    };
    const log = new ForgedLog(engine.database);
    const [created] = log.eventsOf(runId).filter(({ type }) => type === "agent.subagent_created");
    const root = created?.sub_agent_id ?? "";
    log.replaceContract(runId, root, (contract) => {
      contract.profile.id = "coder";
    });
    log.rewrite(runId, (events) => events.map(asBefore));
    log.close();
    rmSync(`${engine.database}-head`, { force: true });
    await using next = await engine.another(options);
    expect(await replay(next, runId)).toMatch(/2 delegations: the same/);
    const desk = new Desk();
    const environment = { MANDATE_HOME: engine.home };
    expect((await desk.type(["tree", runId], { environment })).out).toMatch(
      new RegExp(`coder +${root}`),
    );
    const going = next.engine.continueSession(runId, "and now?");
    await expect(going).rejects.toThrow(`${root} is an agent of another program (coder)`);
    desk.clear();
  });
});

describe("the profile name of other programs' agents", () => {
  const sentence = 'A profile cannot be called "external", which is reserved for agents that other';

  it("can be given to no profile", async () => {
    const opening = openEngine({ ...options, profiles: [testProfile("external")] });
    await expect(opening).rejects.toThrow(
      'name: must be another name than "external", which is reserved for agents that other programs run',
    );
    await using engine = await openEngine(options);
    const operator = { id: "ann", role: "operator" } as const;
    const writing = engine.control.plane.putProfile("external", { description: "d" }, 0, operator);
    await expect(writing).rejects.toThrow(sentence);
  });

  it("cannot be asked for, not even where unknown names fall back to another profile", async () => {
    await using engine = await openEngine({ ...options, limits: { onUnknownProfile: "coder" } });
    await expect(engine.run({ task: "go", profile: "external" })).rejects.toThrow(sentence);
    expect((await engine.run({ task: "go", profile: "nobody" })).result.status).toBe("completed");
  });
});
