import { describe, expect, it } from "vitest";
import { openProcessFleet } from "../../testing/process-fleet.test-support.ts";
import { until } from "../../testing/until.ts";
import { claimsOf, eventsOf } from "./claims.test-support.ts";

/** After its lease has ended, what a dead worker held is free, and others continue. */
const leaseMs = 5000;
const continuedMs = 30_000;

/** The lease is five seconds, and survivors look every second; a busy machine takes longer. */
const takeOverMs = 30_000;
const patience = { timeout: 240_000 };

describe("workers on one Postgres", () => {
  it(
    "take over from one that was killed, and repeat no step that was written",
    patience,
    async () => {
      await using fleet = await openProcessFleet({ workers: 2, atOnce: 1 });
      const task = "fan 2 steps 6 1000";
      const { runId, result } = await fleet.client.engine.startRun({ task, profile: "general" });
      await until(
        "both are at their third step",
        () => fleet.notes().filter((line) => line.endsWith(" 3")).length === 2,
      );
      const killedAt = Date.now();
      fleet.workers[0]?.kill("SIGKILL");
      expect(await result).toMatchObject({ status: "completed" });
      const again = claimsOf(await eventsOf(fleet, runId)).filter(({ at }) => at > killedAt);
      expect(again.length).toBeGreaterThan(0);
      expect((again[0]?.at ?? 0) - killedAt).toBeLessThan(takeOverMs);
      const asked = Map.groupBy(fleet.notes(), (line) => line);
      // One request of each delegation was under way at most when its worker died.
      const repeated = [...asked.values()].filter((lines) => lines.length > 1);
      expect(repeated.every((lines) => lines.length === 2)).toBe(true);
      expect(repeated.length).toBeLessThanOrEqual(2);
    },
  );

  it("hand over their work when they are stopped", patience, async () => {
    await using fleet = await openProcessFleet({ workers: 1, atOnce: 5 });
    const task = "fan 2 steps 10 1000";
    const { runId, result } = await fleet.client.engine.startRun({ task, profile: "general" });
    await until("one is at its third step", () =>
      fleet.notes().some((line) => line.endsWith(" 3")),
    );
    await fleet.add();
    const toldAt = Date.now();
    fleet.workers[0]?.kill("SIGTERM");
    expect(await result).toMatchObject({ status: "completed" });
    // A worker that leaves in order says so: nobody waits for its lease to end.
    const [first, ...claims] = claimsOf(await eventsOf(fleet, runId));
    const handedOn = claims.find(({ worker }) => worker !== first?.worker);
    expect((handedOn?.at ?? Number.POSITIVE_INFINITY) - toldAt).toBeLessThan(takeOverMs);
  });

  it("begin a new run within a second while a hundred questions are open", patience, async () => {
    await using fleet = await openProcessFleet({ workers: 2, atOnce: 2 });
    const { engine, store } = fleet.client;
    const start = (task: string) => engine.startRun({ task, profile: "general" });
    const asking = await start("fan 100 ask");
    await until("all ask", async () => {
      return (await store.readInbox({ limit: 1000, openOnly: true })).length === 100;
    });
    for (let run = 0; run < 5; run++) {
      const { result, runId } = await start("wait 0");
      await result;
      const events = await eventsOf(fleet, runId);
      const [begun] = events.filter(({ type }) => type === "agent.subagent_started");
      expect((begun?.at ?? Number.POSITIVE_INFINITY) - (events[0]?.at ?? 0)).toBeLessThan(1000);
    }
    expect(await engine.cancel(asking.runId, "seen")).toBe("cancelled");
  });

  it("end a run whose budget is nearly used up soon after one of them dies", patience, async () => {
    await using fleet = await openProcessFleet({ workers: 3, atOnce: 10 });
    const { engine, store } = fleet.client;
    for (let round = 0; round < 3; round++) {
      const request = { task: "fan 30 steps 3 300", profile: "general", maxCost: 14 };
      const { result, runId } = await engine.startRun(request);
      const holder = await until(
        "a worker holds a reservation of a child, and others wait",
        async () => {
          const all = [...((await store.readRun(runId))?.delegations.values() ?? [])].slice(1);
          const running = all.flatMap((one) => (one.status === "running" ? one : []));
          const isWaiting = running.some(({ waitingOn }) => waitingOn.on === "budget");
          const held = running.find(({ reservations }) => reservations.length > 0);
          return isWaiting && held?.share?.worker;
        },
      );
      const rows = (await store.workers?.()) ?? [];
      const pid = rows.find(({ id }) => id === holder)?.pid;
      const killedAt = Date.now();
      fleet.workers.find((worker) => worker.pid === pid)?.kill("SIGKILL");
      const { tokenUsage } = await result;
      expect(Date.now() - killedAt).toBeLessThan(leaseMs + continuedMs);
      expect(tokenUsage.cost).toBeLessThanOrEqual(14);
      const events = await eventsOf(fleet, runId);
      const paused = events.filter(({ type }) => type === "agent.paused");
      const begun = events.filter(({ type }) => type === "agent.claimed");
      const turns = events.filter(({ type }) => type === "agent.budget_reserved");
      // At most once for each turn and each worker that waits for it, not for each try.
      expect(paused.length).toBeLessThanOrEqual(turns.length + begun.length);
      await fleet.add();
    }
  });
});
