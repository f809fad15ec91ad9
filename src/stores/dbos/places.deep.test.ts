import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { openProcessFleet, type ProcessFleet } from "../../testing/process-fleet.test-support.ts";
import { until } from "../../testing/until.ts";
import { claimsOf, eventsOf } from "./claims.test-support.ts";

const patience = { timeout: 240_000 };
let fleet: ProcessFleet;

const start = (task: string, more: object = {}) =>
  fleet.client.engine.startRun({ task, profile: "general", ...more });

const openAsks = async () =>
  (await fleet.client.store.readInbox({ limit: 1000, openOnly: true })).length;

async function answerAll(): Promise<void> {
  const { engine, store } = fleet.client;
  for (const { ask } of await store.readInbox({ limit: 1000, openOnly: true })) {
    if (ask !== undefined) await engine.answer(ask.id, "The old one");
  }
}

describe("the places of workers", () => {
  beforeEach(async () => {
    fleet = await openProcessFleet({ workers: 0 });
  }, 180_000);

  afterEach(() => fleet[Symbol.asyncDispose](), 180_000);

  it("are each worker's own: a small one takes nothing from large ones", patience, async () => {
    for (const atOnce of [10, 10, 10, 1]) await fleet.add({ atOnce });
    // No delegation ends, so all of them are asked only when all places are used at the same moment.
    const { runId } = await start("fan 31 wait 600000");
    await until("all are asked at once", () => fleet.notes().length === 32);
    const at = Map.groupBy(claimsOf(await eventsOf(fleet, runId)), ({ worker }) => worker);
    const counts = [...at.values()].map(({ length }) => length).toSorted((a, b) => a - b);
    // The root waits, and holds none.
    expect(counts.reduce((sum, count) => sum + count)).toBe(32);
    expect(counts.at(-1)).toBeLessThanOrEqual(11);
    expect(await fleet.client.engine.cancel(runId, "seen")).toBe("cancelled");
  });

  it("are free while delegations wait for a person", patience, async () => {
    await fleet.add({ atOnce: 2 });
    await fleet.add({ atOnce: 2 });
    const asking = await start("fan 20 ask");
    await until("all ask", async () => (await openAsks()) === 20);
    expect(await (await start("fan 3 wait 0")).result).toMatchObject({ status: "completed" });
    await until("the queues show it", async () => {
      const overview = await fleet.client.queues?.overview();
      return overview?.queues.some(({ suspended, working }) => suspended === 21 && working === 0);
    });
    await answerAll();
    expect(await asking.result).toMatchObject({ status: "completed" });
  });

  it(
    "are free while delegations wait in a worker that dies, and what they ask stays open",
    patience,
    async () => {
      const [first] = [await fleet.add({ atOnce: 3 }), await fleet.add({ atOnce: 3 })];
      const asking = await start("fan 8 ask");
      await until("all ask", async () => (await openAsks()) === 8);
      first.kill("SIGKILL");
      await until("the survivor has all", async () => {
        const overview = await fleet.client.queues?.overview();
        return [...(overview?.taken.values() ?? [])].includes(9);
      });
      expect(await openAsks()).toBe(8);
      expect(await (await start("fan 3 wait 0")).result).toMatchObject({ status: "completed" });
      await answerAll();
      expect(await asking.result).toMatchObject({ status: "completed" });
    },
  );

  it("of one tenant's workers are no concern of another tenant's", patience, async () => {
    for (let count = 0; count < 2; count++) await fleet.add({ tenant: "globex" });
    await fleet.add();
    for (let run = 0; run < 6; run++) {
      const { runId, result } = await start("wait 0");
      expect(await result).toMatchObject({ status: "completed" });
      // Taken once, by the worker that serves this tenant.
      expect(claimsOf(await eventsOf(fleet, runId)).length).toBe(1);
    }
  });
});
