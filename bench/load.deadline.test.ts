/** A promise about real time: what a killed process left is taken up within seconds. */
import { expect, it } from "vitest";
import { measureRecovery } from "./load/queue/measure-recovery.ts";

/** The promise is five seconds on a machine with nothing else to do. */
const ceilingMs = 25_000;

it("a run with four hundred queued children is recovered in time", {
  timeout: 120_000,
}, async () => {
  const { openMs, recoverMs } = await measureRecovery("one run", 1, 400);
  expect(openMs + recoverMs).toBeLessThan(ceilingMs);
});
