import { describe, expect, it } from "vitest";
import type { Script } from "../../models/scripted/scripted-model.ts";
import { type Clock, systemClock } from "../../ports/clock.ts";
import type { DispatchedWork, Dispatcher } from "../../ports/workers.ts";
import { ofType, openEngine, type TestEngine, testProfile } from "../../testing/engine-fixture.ts";
import { until } from "../../testing/until.ts";
import { worstSettlement } from "../ends/cancel-stored.ts";

const profiles = [testProfile("lead", { capabilities: ["primary"], tools: ["list_files"] })];
/** Its first request is never answered. */
const silent: Script = ({ caller }) => ({ text: "done", latency_ms: caller.try > 1 ? 0 : 600_000 });

/** A run whose worker died in the middle of a request. */
async function openOrphaned() {
  const sent: DispatchedWork[] = [];
  const dispatcher: Dispatcher = {
    async dispatch(work) {
      sent.push(work);
    },
  };
  const client = await openEngine({ profiles, model: silent, dispatcher });
  const started = await client.start({ task: "go", profile: "lead" });
  const [work] = sent;
  if (work === undefined) throw new Error("nothing was sent");
  const worker = await client.another({ profiles, model: silent, dispatcher });
  void worker.engine.worker.workOn(work).catch(() => undefined);
  const reserved = async () =>
    ofType(await client.events(started.runId), "agent.budget_reserved").length === 1;
  await until("its request is under way", reserved);
  worker.abandon();
  const open = (model: Script, clock: Clock = systemClock): Promise<TestEngine> =>
    client.another({ profiles, model, dispatcher, clock });
  return { client, open, orphan: { ...work, noticedAt: systemClock.monotonic() }, ...started };
}

describe("what a dead worker held", () => {
  it("is released once, however many workers notice it, and is not released again by its recovery", async () => {
    const { client, open, orphan, result, runId } = await openOrphaned();
    await using _all = client;
    const others = [await open(() => "done"), await open(() => "done")];
    const tended = others.map(({ engine }) => engine.worker.tendOrphans([orphan]));
    expect(await Promise.all(tended)).toEqual([[orphan], [orphan]]);
    const [settled, ...more] = ofType(await client.events(runId), "agent.budget_settled");
    const [reserved] = ofType(await client.events(runId), "agent.budget_reserved");
    expect(more).toEqual([]);
    expect(settled?.payload).toMatchObject({ request: 1, estimated: true });
    const { completion = 0, prompt = 0 } = settled?.payload ?? {};
    expect(prompt + completion).toBe(reserved?.payload.tokens);
    expect(await others[0]?.engine.worker.workOn(orphan)).toBe("done");
    expect(await result).toMatchObject({ status: "completed" });
    const requests = ofType(await client.events(runId), "agent.budget_settled");
    expect(requests.map(({ payload }) => payload.request)).toEqual([1, 2]);
    // It has closed: there is nothing left to look after.
    expect(await others[1]?.engine.worker.tendOrphans([orphan])).toEqual([]);
  });

  it("is settled by the worker that has claimed it, and by no other from then on", async () => {
    const { client, delegationId, open, runId } = await openOrphaned();
    await using _all = client;
    const holder = await open(silent);
    const [claimed] = ofType(await client.events(runId), "agent.claimed");
    const by = { worker: holder.store.ownership.worker, fence: 2 };
    const claim = { type: "agent.claimed", sub_agent_id: delegationId, payload: by } as const;
    await holder.store.append({ runId, by, events: [claim] });
    const delegation = (await client.store.readRun(runId))?.delegations.get(delegationId);
    const late = client.store.append({
      ...{ runId, by: "operator", declaresDead: claimed?.payload.worker ?? "" },
      events: delegation === undefined ? [] : worstSettlement(delegation),
    });
    await expect(late).rejects.toMatchObject({ code: "conflict" });
    expect(await client.engine.cancel(runId, "seen")).toBe("cancelled");
  });

  it("is left to a worker that lives", async () => {
    const { client, open, orphan, runId } = await openOrphaned();
    await using _all = client;
    const holder = await open(silent);
    void holder.engine.worker.workOn(orphan).catch(() => undefined);
    await until("it asks again", async () => {
      return ofType(await client.events(runId), "agent.budget_reserved").length === 2;
    });
    const other = await open(silent);
    expect(await other.engine.worker.tendOrphans([orphan])).toEqual([]);
    expect(ofType(await client.events(runId), "agent.budget_settled").length).toBe(1);
    expect(await client.engine.cancel(runId, "seen")).toBe("cancelled");
  });

  it("ends with the contract's time, when no worker claims it", async () => {
    const { client, open, orphan, result, runId } = await openOrphaned();
    await using _all = client;
    const day = 86_400_000;
    const later: Clock = {
      ...systemClock,
      now: () => systemClock.now() + day,
      monotonic: () => systemClock.monotonic() + day,
    };
    const other = await open(silent, later);
    expect(await other.engine.worker.tendOrphans([orphan])).toEqual([]);
    expect((await result).closeReason).toBe("timeout");
    expect(ofType(await client.events(runId), "agent.budget_settled").length).toBe(1);
  });
});
