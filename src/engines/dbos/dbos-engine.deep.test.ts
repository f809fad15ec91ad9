import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import type { StoredEvent } from "../../events/event.ts";
import { openProcessFleet, type ProcessFleet } from "../../testing/process-fleet.test-support.ts";

const patience = { timeout: 60_000 };

async function eventsOf({ client }: ProcessFleet, runId: string): Promise<StoredEvent[]> {
  const events: StoredEvent[] = [];
  for await (const event of client.store.readEvents({ runId })) events.push(event);
  return events;
}

function claimsOf(events: readonly StoredEvent[]): { worker: string; of: string; at: number }[] {
  return events.flatMap((event) =>
    event.type === "agent.claimed"
      ? [{ worker: event.payload.worker, of: event.sub_agent_id ?? "", at: event.at }]
      : [],
  );
}

async function until(isTrue: () => boolean | Promise<boolean>): Promise<void> {
  for (const end = Date.now() + 30_000; !(await isTrue()); ) {
    if (Date.now() > end) throw new Error("It did not come to that.");
    await sleep(20);
  }
}

describe("workers on one Postgres", () => {
  it("share a run: a parent on one awaits children on others", patience, async () => {
    await using fleet = await openProcessFleet({ workers: 2, atOnce: 2 });
    const task = "fan 6 wait 300";
    const { runId, result } = await fleet.client.engine.startRun({ task, profile: "general" });
    expect(await result).toMatchObject({ status: "completed", result: "done" });
    const events = await eventsOf(fleet, runId);
    expect(new Set(claimsOf(events).map(({ worker }) => worker)).size).toBe(2);
    expect(events.at(-1)).toMatchObject({
      type: "run.finished",
      payload: { outcome: "succeeded" },
    });
  });

  it(
    "take over from one that was killed, and repeat no step that was written",
    patience,
    async () => {
      await using fleet = await openProcessFleet({ workers: 2, atOnce: 1 });
      const task = "fan 2 steps 8 250";
      const { runId, result } = await fleet.client.engine.startRun({ task, profile: "general" });
      await until(() => fleet.notes().filter((line) => line.endsWith(" 3")).length === 2);
      const killedAt = Date.now();
      fleet.workers[0]?.kill("SIGKILL");
      expect(await result).toMatchObject({ status: "completed" });
      const again = claimsOf(await eventsOf(fleet, runId)).filter(({ at }) => at > killedAt);
      expect(again.length).toBeGreaterThan(0);
      expect((again[0]?.at ?? 0) - killedAt).toBeLessThan(10_000);
      const asked = Map.groupBy(fleet.notes(), (line) => line);
      // One request of each delegation was under way at most when its worker died.
      const repeated = [...asked.values()].filter((lines) => lines.length > 1);
      expect(repeated.every((lines) => lines.length === 2)).toBe(true);
      expect(repeated.length).toBeLessThanOrEqual(2);
    },
  );

  it("go on without one that was stopped, and refuse it when it comes back", patience, async () => {
    await using fleet = await openProcessFleet({ workers: 2, atOnce: 1 });
    const task = "fan 2 steps 6 300";
    const { runId, result } = await fleet.client.engine.startRun({ task, profile: "general" });
    await until(() => fleet.notes().filter((line) => line.endsWith(" 2")).length === 2);
    const stopped = fleet.workers[0];
    stopped?.kill("SIGSTOP");
    await until(async () => {
      const claims = claimsOf(await eventsOf(fleet, runId));
      return claims.some(({ of }, index) => claims.findIndex((one) => one.of === of) < index);
    });
    stopped?.kill("SIGCONT");
    expect(await result).toMatchObject({ status: "completed" });
    // The checker, at the end, has the last word: one end each, and no fence twice.
  });

  it("hand on what they have when they are told to stop", patience, async () => {
    await using fleet = await openProcessFleet({ workers: 1, atOnce: 5 });
    const task = "fan 2 steps 10 300";
    const { result } = await fleet.client.engine.startRun({ task, profile: "general" });
    await until(() => fleet.notes().some((line) => line.endsWith(" 3")));
    await fleet.add();
    const toldAt = Date.now();
    fleet.workers[0]?.kill("SIGTERM");
    expect(await result).toMatchObject({ status: "completed" });
    // A worker that leaves in order says so: nobody waits for its lease to end.
    expect(Date.now() - toldAt).toBeLessThan(12_000);
  });

  it("have a run cancelled from a process that works on none of it", patience, async () => {
    await using fleet = await openProcessFleet({ workers: 2, atOnce: 5 });
    const task = "fan 4 wait 60000";
    const { runId, result } = await fleet.client.engine.startRun({ task, profile: "general" });
    await until(() => fleet.notes().length === 5);
    expect(await fleet.client.engine.cancel(runId, "enough")).toBe("cancelled");
    expect(await result).toMatchObject({ status: "cancelled" });
  });
});
