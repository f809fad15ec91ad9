import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { ofType } from "../../testing/engine-fixture.ts";
import {
  machine,
  openPrograms,
  programProfile,
  reportsOf,
  whySkipped,
} from "./program-scene.test-support.ts";

describe.skipIf(!machine.isUsable)(`an agent program${whySkipped}`, () => {
  it("works in a copy that is merged, and is metered by the gateway", async () => {
    const program = programProfile(async (agent) => {
      agent.say("I write it.");
      agent.update({ sessionUpdate: "tool_call", toolCallId: "1", title: "write made.txt" });
      agent.write("made.txt", "made\n");
      agent.update({ sessionUpdate: "tool_call_update", toolCallId: "1", status: "completed" });
      const { text } = await agent.model();
      agent.say(`Done: ${text}`);
    });
    await using scene = await openPrograms([program]);
    const { engine, provider } = scene;
    const { delegationId, events, result } = await scene.run();
    expect(result).toMatchObject({ status: "completed", closeReason: "integrated" });
    expect(result.result).toBe("Done: Hello from the provider.");
    expect(readFileSync(join(engine.workspace, "made.txt"), "utf8")).toBe("made\n");
    expect(reportsOf(events)).toEqual([
      ...["started fake 1.2.3", "said I write it.", "called write made.txt"],
      "answered Done: Hello from the provider.",
    ]);
    expect(provider.billed).toHaveLength(1);
    expect(ofType(events, "agent.model_turn")[0]?.payload.usage).toMatchObject({
      prompt: 120,
      completion: 30,
    });
    await expect.poll(() => existsSync(join(engine.home, "programs", delegationId))).toBe(false);
  });
});
