import { expect, test } from "vitest";
import { openEngine, testProfile } from "../../testing/engine-fixture.ts";
import { replayAgain } from "./replay-again.test-support.ts";

const boss = testProfile("boss", {
  capabilities: ["primary"],
  tools: ["delegate_task", "list_files"],
});
const worker = testProfile("worker", { tools: ["list_files"] });

test("a run of thirty children replays to the same events", async () => {
  await using engine = await openEngine({
    profiles: [boss, worker],
    model({ caller }) {
      if (caller.profile === "worker")
        return caller.turn === 1
          ? { calls: [{ tool: "list_files", input: {} }] }
          : `did ${caller.task}`;
      if (caller.turn > 1) return "all done";
      return {
        calls: Array.from({ length: 30 }, (_, index) => ({
          tool: "delegate_task",
          input: { profile: "worker", task: `part ${index}` },
        })),
      };
    },
  });
  const { runId, result } = await engine.run({
    task: "go",
    profile: "boss",
    workspace: engine.workspace,
  });
  expect(result.status).toBe("completed");
  const replayed = await replayAgain(engine.store, runId);
  expect(replayed.differences).toEqual([]);
  expect(replayed).toMatchObject({ delegations: 31, isFinished: true });
});
