import { describe, expect, it } from "vitest";
import { ofType, openEngine, testProfile } from "../../testing/engine-fixture.ts";
import { machine, whySkipped } from "./shell-fixture.test-support.ts";

describe.skipIf(!machine.isUsable)(`the log of commands${whySkipped}`, () => {
  it("says how each of them ended", async () => {
    const inputs = [
      { command: "exit 3" },
      { argv: ["true"] },
      { command: "exit 4", background: true },
      { handle: "bg-1", action: "wait" },
      { command: "sleep 60", timeout_ms: 200 },
    ];
    await using mandate = await openEngine({
      profiles: [testProfile("a", { tools: ["shell"] })],
      environment: { PATH: process.env["PATH"] ?? "" },
      model: ({ caller }) => {
        const input = inputs[caller.turn - 1];
        return input === undefined ? "done" : { calls: [{ tool: "shell", input }] };
      },
    });
    const { workspace } = mandate;
    const { events } = await mandate.run({ task: "go", profile: "a", workspace });
    const codes = ofType(events, "agent.tool_completed").map(({ payload }) => payload.exit_code);
    // The one in the background may have ended before the call that started it.
    expect([...codes.slice(0, 2), codes[3]]).toEqual([3, 0, 4]);
    const [ended] = ofType(events, "agent.tool_failed");
    expect(ended?.payload.error).toContain("took longer than 200 ms");
    expect(ended?.payload).not.toHaveProperty("exit_code");
  });
});
