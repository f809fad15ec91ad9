import { expect, test } from "vitest";
import { ofType, openEngine, testProfile } from "../../testing/engine-fixture.ts";
import { replayModel } from "./recorded-model.ts";
import { recordingOf } from "./recording.ts";

const profiles = [
  testProfile("boss", { capabilities: ["primary"] }),
  testProfile("worker", { tools: ["list_files"] }),
];

async function recordOne() {
  await using engine = await openEngine({
    profiles,
    limits: { backoffMs: 1 },
    model({ caller }) {
      if (caller.profile === "worker") {
        if (caller.turn === 1 && caller.try === 1) return { fault: "overloaded" };
        if (caller.turn === 1) return { calls: [{ tool: "list_files", input: {} }] };
        return `did ${caller.task}`;
      }
      if (caller.turn > 1) return "all done";
      return {
        calls: ["a", "b"].map((task) => ({
          tool: "delegate_task",
          input: { profile: "worker", task },
        })),
      };
    },
  });
  const run = { task: "go", profile: "boss", workspace: engine.workspace };
  return await recordingOf((await engine.run(run)).runId, engine.store);
}

test("agents of one's own are run on recorded answers, with live tools", async () => {
  const recording = await recordOne();
  const models = { scripted: replayModel(recording) };
  await using engine = await openEngine({ profiles, ...models });
  const { events, result } = await engine.run({
    task: "go",
    profile: "boss",
    workspace: engine.workspace,
  });
  expect(result).toMatchObject({ status: "completed", result: "all done" });
  expect(result.subDelegations?.map(({ result: said }) => said)).toEqual(["did a", "did b"]);
  expect(ofType(events, "agent.retried").length).toBe(2);
});

test("a profile that takes away what the recording needs is caught", async () => {
  const recording = await recordOne();
  const narrowed = [
    testProfile("boss", { capabilities: ["primary"] }),
    testProfile("worker", { tools: [] }),
  ];
  await using engine = await openEngine({ profiles: narrowed, scripted: replayModel(recording) });
  const { events } = await engine.run({ task: "go", profile: "boss", workspace: engine.workspace });
  const denied = ofType(events, "agent.tool_denied").map(({ payload }) => payload.rule);
  expect(denied).toEqual(["tool_not_granted", "tool_not_granted"]);
});

test("what nobody recorded is a fault that names the profile, the turn and the task", async () => {
  const recording = await recordOne();
  await using engine = await openEngine({ profiles, scripted: replayModel(recording) });
  const { result } = await engine.run({ task: "something else", profile: "boss" });
  expect(result.status).toBe("failed");
  expect(result.result).toContain('no answer to turn 1 of boss, whose task is "something else"');
});
