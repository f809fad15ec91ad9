import { expect, it } from "vitest";
import { scriptedModel } from "../../models/scripted/scripted-model.ts";
import { testProfile } from "../../testing/engine-fixture.ts";
import { createMandate } from "./mandate.ts";

it("gives the root's answer while its children run, and the result when they have ended", async () => {
  const child = Promise.withResolvers<void>();
  const tools = ["spawn", "spawn_await"];
  const mandate = await createMandate({
    database: ":memory:",
    environment: {},
    config: { tools: { spawn: { enabled: true } } },
    profiles: [
      testProfile("lead", { tools, mayDelegate: { tools: ["read_file", ...tools] } }),
      testProfile("worker", { tools: ["read_file"] }),
    ],
    scripted: scriptedModel(async ({ caller }) => {
      if (caller.depth > 0) {
        await child.promise;
        return "found it";
      }
      const spawn = { tool: "spawn", input: { profile: "worker", task: "look" } };
      return caller.turn === 1 ? { calls: [spawn] } : "I started it.";
    }),
  });
  const run = await mandate.start({ profile: "lead", task: "go" });
  expect(await run.answer).toMatchObject({ status: "completed", result: "I started it." });
  const [root] = await mandate.listActive();
  expect(root).toMatchObject({ delegationId: run.delegationId, waitingOn: { on: "child" } });
  expect(await mandate.getResult(run.runId)).toBeNull();
  child.resolve();
  expect(await run.result).toMatchObject({
    ...{ outcome: "succeeded", result: "I started it." },
    subDelegations: [{ result: "found it" }],
  });
  expect((await mandate.verify()).violations).toEqual([]);
  await mandate.close();
});
