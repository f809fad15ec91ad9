import { expect, test } from "vitest";
import { openEngine } from "../../../testing/engine-fixture.ts";
import { ManualClock } from "../../../testing/manual-clock.ts";
import { until } from "../../../testing/until.ts";
import type { CallProgress } from "../mcp-tool.ts";
import { TreeProgress } from "./tree-progress.ts";

test("Progress grows with every report, comes at most four times a second, and ends with the tree", async () => {
  const stops = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  let reached = 0;
  await using engine = await openEngine({
    model: async ({ messages }) => {
      // Stops before the first call and before the last ones: between them much happens at once.
      const stop = messages.length < 20 ? 1 : 2;
      reached = Math.max(reached, stop);
      await stops[stop - 1]?.promise;
      return messages.length < 30
        ? { calls: [{ tool: "glob", input: { pattern: `${messages.length}` } }] }
        : { text: "Done" };
    },
  });
  const clock = new ManualClock();
  const heard: CallProgress[] = [];
  const progress = new TreeProgress({
    store: engine.store,
    clock,
    report: (one) => heard.push(one),
  });
  const run = await engine.start({ task: "x", profile: "researcher", workspace: engine.workspace });
  await until("the first stop", () => reached === 1);
  progress.follow(run.runId, [run.delegationId]);
  await clock.advance(0);
  await until("the first report", () => heard.length === 1);
  stops[0]?.resolve();
  await until("the second stop", () => reached === 2);
  // Each of the events by now would be a report, were they not gathered.
  await clock.advance(249);
  expect(heard).toHaveLength(1);
  await clock.advance(1);
  await until("the second report", () => heard.length === 2);
  await until("the next report is planned", () => clock.waiting === 1);
  // Without news the next one comes after ten seconds.
  await clock.advance(9999);
  expect(heard).toHaveLength(2);
  await clock.advance(1);
  await until("the third report", () => heard.length === 3);
  stops[1]?.resolve();
  await run.result;
  await progress.end();
  expect(heard).toHaveLength(4);
  expect(heard.map(({ progress: step }) => step)).toEqual([1, 2, 3, 4]);
  expect(clock.waiting).toBe(0);
  await clock.advance(60_000);
  expect(heard).toHaveLength(4);
});

test("A call that was refused tells of no progress", async () => {
  await using engine = await openEngine({ model: () => ({ text: "Done" }) });
  const heard: CallProgress[] = [];
  const progress = new TreeProgress({
    store: engine.store,
    clock: new ManualClock(),
    report: (one) => heard.push(one),
  });
  const { runId } = await engine.run({ task: "x", profile: "researcher" });
  progress.follow(runId, []);
  await progress.end();
  expect(heard).toEqual([]);
});
