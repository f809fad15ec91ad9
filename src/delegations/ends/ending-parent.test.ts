import { describe, expect, it } from "vitest";
import type { Script } from "../../models/scripted/scripted-model.ts";
import { ofType, openEngine } from "../../testing/engine-fixture.ts";
import { HeldClock } from "../../testing/held-clock.test-support.ts";
import { busyTeam } from "../busy-tool.test-support.ts";

describe("a parent that ends", () => {
  it("by its deadline closes its children with it, before itself", async () => {
    const spawn = { tool: "spawn", input: { task: "x", profile: "worker" } };
    const clock = new HeldClock();
    const model: Script = ({ caller }) => {
      if (caller.depth > 0) return { calls: [{ tool: "busy", input: { n: caller.turn } }] };
      if (caller.turn === 1) return { calls: [spawn, spawn] };
      clock.pass(100);
      return { fault: "hang" };
    };
    await using mandate = await openEngine({ ...busyTeam, clock, model });
    const { result, events } = await mandate.run({ task: "go", profile: "lead", timeoutMs: 60 });
    expect(result).toMatchObject({ status: "timeout", closeReason: "timeout" });
    const closed = ofType(events, "agent.subagent_closed").map((event) => event.payload);
    expect(closed).toHaveLength(3);
    expect(closed.at(-1)?.sub_agent_id).toBe(result.delegationId);
    // Their own time is what their caller had left, so it may end a moment before.
    for (const { close_reason: reason } of closed) expect(reason).toMatch(/parent_closed|timeout/);
    expect(mandate.parts.scheduler.running).toBe(0);
  });

  it("without an answer closes its children, and the run says that no agent heard of them", async () => {
    const model: Script = ({ caller }) => {
      if (caller.depth > 0) return { calls: [{ tool: "busy", input: { n: caller.turn } }] };
      if (caller.turn > 1) return { fault: "unauthorized" };
      const spawn = { tool: "spawn", input: { task: "x", profile: "worker" } };
      return { calls: [spawn, spawn] };
    };
    await using mandate = await openEngine({ ...busyTeam, model });
    const { result, events } = await mandate.run({ task: "go", profile: "lead" });
    expect(result).toMatchObject({ status: "failed", closeReason: "provider_unavailable" });
    expect(result.subDelegations).toMatchObject([
      { status: "failed", closeReason: "parent_closed", result: "Its caller ended before it did." },
      { status: "failed", closeReason: "parent_closed" },
    ]);
    const [finished] = ofType(events, "run.finished");
    expect(finished?.payload.outcome).toBe("failed");
  });
});
