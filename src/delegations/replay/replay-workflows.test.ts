import { expect, test } from "vitest";
import { openEngine, testProfile } from "../../testing/engine-fixture.ts";
import {
  echoModel,
  requestOf,
  writeChildren,
} from "../../tools/workflow/workflow-run.test-support.ts";
import { replayAgain } from "./replay-again.test-support.ts";

const options = { profiles: [testProfile("general", { tools: [] })], trustWorkspace: true };

test.each([
  [
    "completes",
    `phase("One"); log("begun")
    const all = await parallel(["a", "FAIL400", "c"].map((n) => () => agent("ECHO<" + n + "> " + n, { label: n })))
    await new Promise((resolve) => setTimeout(resolve, 1))
    return { all, child: await workflow("child", { q: 1 }) }`,
  ],
  ["leaves agents behind", `agent("SLEEP600000 ECHO<late>"); return await agent("ECHO<x>")`],
  ["throws", `await agent("ECHO<x>"); throw new Error("boom")`],
])("a workflow that %s is replayed without its script", async (_how, script) => {
  await using mandate = await openEngine({ ...options, model: echoModel() });
  writeChildren(mandate.workspace);
  const { runId } = await mandate.run(await requestOf(mandate, script));
  expect((await replayAgain(mandate.store, runId)).differences).toEqual([]);
});
