import { setTimeout as delay } from "node:timers/promises";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { expect, it } from "vitest";
import { z } from "zod";
import { noExposure } from "../../contracts/exposure.ts";
import { ofType, openEngine, recording, testProfile } from "../../testing/engine-fixture.ts";
import { defineTool } from "../../tools/tool.ts";

setFlagsFromString("--expose-gc");
const collectGarbage = runInNewContext("gc") as () => void;

async function residentMegabytes(): Promise<number> {
  for (let round = 0; round < 3; round++) {
    collectGarbage();
    // What lies outside the heap is given back a little later.
    await delay(20);
  }
  return process.memoryUsage.rss() / 1024 / 1024;
}

const size = 100 * 1024 * 1024;

it("fault 20: of 100 MB of tool output the beginning enters the conversation and the log", async () => {
  const flood = defineTool({
    name: "flood",
    description: "Says far too much.",
    effect: "read",
    exposure: noExposure,
    idempotent: true,
    scopes: [],
    input: z.strictObject({}),
    execute: () => "0123456789abcdef".repeat(size / 16),
  });
  const { seen, model } = recording(({ caller }) =>
    caller.turn === 1 ? { calls: [{ tool: "flood" }] } : "done",
  );
  await using mandate = await openEngine({
    profiles: [testProfile("agent")],
    tools: [flood],
    model,
  });
  // The first run loads what every run needs.
  await mandate.run({ task: "warm up", profile: "agent", tools: ["read_file"] });
  seen.length = 0;
  const before = await residentMegabytes();
  const { result, events } = await mandate.run({ task: "go", profile: "agent" });
  const growth = (await residentMegabytes()) - before;
  expect(result.status).toBe("completed");
  const [completed] = ofType(events, "agent.tool_completed");
  const { output = "", ...payload } = completed?.payload ?? {};
  expect(payload).toMatchObject({ truncated: true, bytes: size });
  expect(payload).toHaveProperty("hash", expect.stringMatching(/^[0-9a-f]{64}$/));
  expect(Buffer.byteLength(output)).toBeLessThan(65 * 1024);
  expect(seen[1]?.messages.at(-1)?.text).toBe(output);
  const artifact = (payload as { artifact?: { hash: string } }).artifact?.hash ?? "";
  expect((await mandate.store.readArtifact(artifact))?.length).toBe(size);
  expect(growth).toBeLessThan(20);
});
