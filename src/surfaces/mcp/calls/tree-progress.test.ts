import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import { openEngine } from "../../../testing/engine-fixture.ts";
import type { CallProgress } from "../mcp-tool.ts";
import { TreeProgress } from "./tree-progress.ts";

test("Progress grows with every report, comes at most four times a second, and ends with the tree", async () => {
  await using engine = await openEngine({
    model: ({ messages }) =>
      messages.length < 30
        ? { calls: [{ tool: "glob", input: { pattern: `${messages.length}` } }], latency_ms: 40 }
        : { text: "Done" },
  });
  const heard: (CallProgress & { readonly at: number })[] = [];
  const progress = new TreeProgress({
    store: engine.store,
    report: (one) => heard.push({ ...one, at: performance.now() }),
  });
  const run = await engine.start({ task: "x", profile: "researcher", workspace: engine.workspace });
  progress.follow(run.runId, [run.delegationId]);
  await run.result;
  const before = heard.length;
  await progress.end();
  expect(heard).toHaveLength(before + 1);
  expect(heard.at(-1)).toMatchObject({ progress: 1, total: 1 });
  expect(heard.length).toBeGreaterThan(2);
  for (const [index, { at, progress: step }] of heard.entries()) {
    const last = heard[index - 1];
    if (last === undefined) continue;
    expect(step).toBeGreaterThan(last.progress);
    // The last one does not wait for its turn.
    if (index < heard.length - 1) expect(at - last.at).toBeGreaterThan(200);
  }
  await sleep(300);
  expect(heard).toHaveLength(before + 1);
});

test("A call that was refused tells of no progress", async () => {
  await using engine = await openEngine({ model: () => ({ text: "Done" }) });
  const heard: CallProgress[] = [];
  const progress = new TreeProgress({ store: engine.store, report: (one) => heard.push(one) });
  const { runId } = await engine.run({ task: "x", profile: "researcher" });
  progress.follow(runId, []);
  await progress.end();
  expect(heard).toEqual([]);
});
