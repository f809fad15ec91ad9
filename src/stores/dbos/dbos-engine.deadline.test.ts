import { describe, expect, it } from "vitest";
import { openProcessFleet } from "../../testing/process-fleet.test-support.ts";
import { until } from "../../testing/until.ts";
import { claimsOf, eventsOf } from "./claims.test-support.ts";

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
});
