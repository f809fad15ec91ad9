import { expect, it } from "vitest";
import { z } from "zod";
import { noExposure } from "../../contracts/exposure.ts";
import { ofType, openEngine, recording, testProfile } from "../../testing/engine-fixture.ts";
import { defineTool } from "../../tools/tool.ts";

it("shows no more of an output than the budget has room for, and the work goes on", async () => {
  const said = "x".repeat(60_000);
  const loud = defineTool({
    name: "loud",
    description: "Says much.",
    effect: "read",
    exposure: noExposure,
    idempotent: true,
    scopes: [],
    input: z.strictObject({}),
    execute: () => said,
  });
  const { seen, model } = recording(({ caller }) =>
    caller.turn <= 2 ? { calls: [{ tool: "loud" }] } : "done",
  );
  await using mandate = await openEngine({
    profiles: [testProfile("agent")],
    tools: [loud],
    model,
  });
  const { result, events } = await mandate.run({ task: "go", profile: "agent", maxTokens: 50_000 });
  expect(result).toMatchObject({ status: "completed", result: "done" });
  expect(seen.every(({ tools }) => tools.length > 0)).toBe(true);
  const [first] = ofType(events, "agent.tool_completed");
  expect(first?.payload).toMatchObject({ truncated: true, bytes: 60_000 });
  expect(first?.payload.output.length).toBeGreaterThan(15_000);
  expect(first?.payload.output.length).toBeLessThan(25_000);
  const hash = first?.payload.artifact?.hash ?? "";
  expect(await mandate.store.readArtifact(hash)).toBe(said);
});
