import { describe, expect, it } from "vitest";
import type { Script } from "../../models/scripted/scripted-model.ts";
import { ofType, openEngine, testProfile } from "../../testing/engine-fixture.ts";
import { until } from "../../testing/until.ts";

const profiles = [
  testProfile("lead", { tools: ["delegate_task"], mayDelegate: { tools: ["list_files"] } }),
  testProfile("worker", { tools: ["list_files"] }),
];

const script: Script = ({ caller }) =>
  caller.depth > 0
    ? { fault: "hang" }
    : {
        calls: ["one", "two"].map((task) => ({
          tool: "delegate_task",
          input: { profile: "worker", task },
        })),
      };

describe("a tree of which another process closed a part a moment ago", () => {
  it("is closed whole all the same, and nobody is left waiting", async () => {
    await using mandate = await openEngine({ profiles, model: script });
    const { runId, result } = await mandate.start({ task: "go", profile: "lead" });
    const second = await mandate.another({ profiles, model: script });
    const children = await until("both children are at work", async () => {
      const run = await second.store.readRun(runId);
      const running = [...(run?.delegations.values() ?? [])].filter(
        ({ depth, status }) => depth === 1 && status === "running",
      );
      return running.length === 2 && running.map(({ id }) => id);
    });
    expect(await second.engine.cancel(children[0] ?? "", "from beside")).toBe("cancelled");
    // At once: this process has not looked at what the other one wrote.
    expect(await mandate.engine.cancel(runId, "all of it")).toBe("cancelled");
    expect((await result).status).toBe("cancelled");
    const closed = ofType(await mandate.events(runId), "agent.subagent_closed");
    expect(closed).toHaveLength(3);
  });
});
