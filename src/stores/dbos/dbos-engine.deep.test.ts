import { describe, expect, it } from "vitest";
import { openProcessFleet } from "../../testing/process-fleet.test-support.ts";
import { until } from "../../testing/until.ts";
import { claimsOf, eventsOf } from "./claims.test-support.ts";

const patience = { timeout: 240_000 };

describe("workers on one Postgres", () => {
  it("share a run: a parent on one awaits children on others", patience, async () => {
    await using fleet = await openProcessFleet({ workers: 2, atOnce: 2 });
    const task = "fan 6 wait 2000";
    const { runId, result } = await fleet.client.engine.startRun({ task, profile: "general" });
    expect(await result).toMatchObject({ status: "completed", result: "done" });
    const events = await eventsOf(fleet, runId);
    expect(new Set(claimsOf(events).map(({ worker }) => worker)).size).toBe(2);
    expect(events.at(-1)).toMatchObject({
      type: "run.finished",
      payload: { outcome: "succeeded" },
    });
  });

  it("go on without one that was stopped, and refuse it when it comes back", patience, async () => {
    await using fleet = await openProcessFleet({ workers: 2, atOnce: 1 });
    const task = "fan 2 steps 6 1000";
    const { runId, result } = await fleet.client.engine.startRun({ task, profile: "general" });
    await until(
      "both are at their second step",
      () => fleet.notes().filter((line) => line.endsWith(" 2")).length === 2,
    );
    const stopped = fleet.workers[0];
    stopped?.kill("SIGSTOP");
    await until("another worker claims what the stopped one had", async () => {
      const claims = claimsOf(await eventsOf(fleet, runId));
      return claims.some(({ of }, index) => claims.findIndex((one) => one.of === of) < index);
    });
    stopped?.kill("SIGCONT");
    expect(await result).toMatchObject({ status: "completed" });
    // The checker, at the end, has the last word: one end each, and no fence twice.
  });

  it("have a run cancelled from a process that works on none of it", patience, async () => {
    await using fleet = await openProcessFleet({ workers: 2, atOnce: 5 });
    const task = "fan 4 wait 60000";
    const { runId, result } = await fleet.client.engine.startRun({ task, profile: "general" });
    await until("all are asked", () => fleet.notes().length === 5);
    expect(await fleet.client.engine.cancel(runId, "enough")).toBe("cancelled");
    expect(await result).toMatchObject({ status: "cancelled" });
  });
});
