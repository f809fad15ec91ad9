import { describe, expect, it } from "vitest";
import { z } from "zod";
import { noExposure } from "../../contracts/exposure.ts";
import {
  type EngineOptions,
  ofType,
  openEngine,
  recording,
  type TestEngine,
  testProfile,
} from "../../testing/engine-fixture.ts";
import { defineTool } from "../../tools/tool.ts";

describe("resumptions", () => {
  /** Dies after each turn of the child, which is progress each time. */
  async function dieAtEachTurn(turns: number) {
    let current: TestEngine | undefined;
    let died: () => void = () => {};
    const { seen, model } = recording(({ caller }) => {
      if (caller.depth === 0) {
        if (caller.turn > 1) return "all done";
        return { calls: [{ tool: "delegate_task", input: { profile: "worker", task: "long" } }] };
      }
      if (caller.turn > turns) return "made it";
      return { text: `step ${caller.turn}`, calls: [{ tool: "step", input: { at: caller.turn } }] };
    });
    const step = defineTool({
      name: "step",
      description: "A step forward.",
      effect: "read",
      exposure: noExposure,
      idempotent: true,
      scopes: [],
      input: z.strictObject({ at: z.int() }),
      execute: ({ at }) => `${at} done`,
    });
    const dieOn = new Set<number>();
    const options: EngineOptions = {
      profiles: [
        testProfile("worker", { tools: ["step"] }),
        testProfile("lead", { tools: ["delegate_task"], mayDelegate: { tools: ["step"] } }),
      ],
      tools: [step],
      model,
    };
    await using mandate = await openEngine(options);
    const watch = (engine: TestEngine): Promise<void> => {
      current = engine;
      engine.store.subscribe((events) => {
        for (const event of events) {
          if (event.type !== "agent.tool_completed" || event.payload.tool !== "step") continue;
          if (dieOn.has(event.seq)) continue;
          dieOn.add(event.seq);
          current?.abandon();
          died();
        }
      });
      return new Promise((resolve) => {
        died = resolve;
      });
    };
    let dead = watch(mandate);
    const { runId } = await mandate.start({ task: "go", profile: "lead" });
    for (let life = 0; life <= turns + 2; life++) {
      await dead;
      const next = await mandate.another(options);
      dead = watch(next);
      const [recovered] = await next.engine.recover();
      const result = await Promise.race([dead, recovered?.result]);
      if (result) return { result, events: await next.events(runId), turns: seen.length };
    }
    throw new Error("it never ended");
  }

  it("with progress in between are not counted together", async () => {
    const { result, events } = await dieAtEachTurn(6);
    expect(result.subDelegations).toMatchObject([{ status: "completed", result: "made it" }]);
    const child = result.subDelegations?.[0]?.delegationId;
    const counts = ofType(events, "agent.resumed", child).map(({ payload }) => payload.resumption);
    expect(counts).toEqual(Array(6).fill(1));
  });

  it("are not held against a parent that only waits for a child that gets on", async () => {
    const { result } = await dieAtEachTurn(6);
    expect(result).toMatchObject({ status: "completed", result: "all done" });
  });
});
