/** A promise about real time: one process hears of what another one decided. */
import { expect, it } from "vitest";
import { openEngine, testProfile } from "../../testing/engine-fixture.ts";

/** The promise is one second on a machine with nothing else to do. */
const ceilingMs = 10_000;

it("a run that another process cancels stops within a second", async () => {
  const asked = Promise.withResolvers<void>();
  const options = {
    profiles: [testProfile("worker", { tools: [] })],
    model() {
      asked.resolve();
      return { fault: "stall" as const };
    },
  };
  await using mandate = await openEngine(options);
  const { runId, result } = await mandate.start({ task: "go", profile: "worker" });
  await asked.promise;
  const second = await mandate.another(options);
  const began = performance.now();
  expect(await second.engine.cancel(runId, "enough")).toBe("cancelled");
  expect((await result).status).toBe("cancelled");
  expect(performance.now() - began).toBeLessThan(ceilingMs);
});
