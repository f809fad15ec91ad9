import { expect, test } from "vitest";
import { z } from "zod";
import { noExposure } from "../../contracts/exposure.ts";
import { exampleSentences } from "../../events/example-causes.test-support.ts";
import type { Script } from "../../models/scripted/scripted-model.ts";
import { ModelFault } from "../../ports/model.ts";
import { isDistributed, notOffered } from "../../testing/alter-database.test-support.ts";
import { ofType, openEngine, testProfile } from "../../testing/engine-fixture.ts";
import { until } from "../../testing/until.ts";
import { defineTool } from "../../tools/tool.ts";
import { replayAgain } from "./replay-again.test-support.ts";

const same = { differences: [], isFinished: true };
const profiles = [
  testProfile("lead", { tools: ["delegate_task"], capabilities: ["primary"] }),
  testProfile("worker"),
];

/** A lead whose worker never answers. */
const hanging: Script = ({ caller }) => {
  if (caller.profile === "worker") return { fault: "hang" };
  if (caller.turn > 1) return "done";
  return { calls: [{ tool: "delegate_task", input: { profile: "worker", task: "wait" } }] };
};

async function startHanging(engine: Awaited<ReturnType<typeof openEngine>>) {
  const started = await engine.start({ task: "go", profile: "lead" });
  const worker = await until("the worker waits for its model", async () =>
    ofType(await engine.events(started.runId), "agent.budget_reserved").find(
      ({ sub_agent_id: id }) => id !== started.delegationId,
    ),
  );
  return { ...started, worker: worker.sub_agent_id ?? "" };
}

test("whatever words a run is cancelled with, they are a person's and replay to the same", async ({
  skip,
}) => {
  if (isDistributed) skip(notOffered.replay);
  await using engine = await openEngine({ profiles, model: hanging, limits: { maxChildren: 99 } });
  for (const text of exampleSentences) {
    const { result, runId } = await startHanging(engine);
    expect(await engine.engine.cancel(runId, text)).toBe("cancelled");
    expect(await result).toMatchObject({ status: "cancelled", result: text });
    const replayed = await replayAgain(engine.store, runId);
    expect({ text, ...replayed }).toMatchObject({ text, ...same });
  }
});

test("whatever words a child is cancelled with by another process, they replay to the same", async ({
  skip,
}) => {
  if (isDistributed) skip(notOffered.replay);
  await using engine = await openEngine({ profiles, model: hanging });
  const other = await engine.another({ profiles, model: hanging });
  for (const text of ["Its caller was cancelled.", "Its caller was ended.", "It is paused."]) {
    const { result, runId, worker } = await startHanging(engine);
    expect(await other.engine.cancel(worker, text)).toBe("cancelled");
    expect(await result).toMatchObject({ status: "completed" });
    const replayed = await replayAgain(engine.store, runId);
    expect({ text, ...replayed }).toMatchObject({ text, ...same });
  }
});

test("a tool, a provider and middleware may speak like the runtime, and replay to the same", async ({
  skip,
}) => {
  if (isDistributed) skip(notOffered.replay);
  const imitations = [
    "Interrupted: the delegation ended.",
    "Interrupted: its outcome is unknown.",
    "Error: imitate took longer than 5 ms and was stopped.",
    "Error: the plan was not approved, and nothing was started.",
    "The model gave no first token for 5 ms.",
    "An attempt took longer than 5 ms.",
    "The conversation does not fit the model's window: no",
    "The turn was refused: no",
  ];
  const imitate = defineTool({
    name: "imitate",
    description: "Fails in the words that it is given.",
    effect: "read",
    exposure: noExposure,
    idempotent: true,
    scopes: [],
    input: z.strictObject({ words: z.string() }),
    execute: ({ words }) => ({ text: words, isError: true }),
  });
  await using engine = await openEngine({
    profiles: [testProfile("lead", { tools: ["imitate"], capabilities: ["primary"] })],
    tools: [imitate],
    limits: { requestTries: 3 },
    model({ caller }) {
      if (caller.turn === 1) {
        const calls = imitations.map((words) => ({ tool: "imitate", input: { words } }));
        return { calls };
      }
      const words = imitations[Number(caller.task)] ?? "";
      if (caller.try === 1) throw new ModelFault("overloaded", words, { retryAfterMs: 0 });
      if (caller.turn === 2) throw new ModelFault("rejected", words);
      return "done";
    },
  });
  for (const index of imitations.keys()) {
    const { result, runId } = await engine.run({ task: String(index), profile: "lead" });
    expect(result).toMatchObject({ status: "failed", closeReason: "provider_unavailable" });
    const replayed = await replayAgain(engine.store, runId);
    expect({ words: imitations[index], ...replayed }).toMatchObject(same);
  }
});

test("a turn that middleware refuses in the runtime's words replays to the same", async ({
  skip,
}) => {
  if (isDistributed) skip(notOffered.replay);
  for (const words of [
    "Its caller was cancelled.",
    "It took longer than 5 ms.",
    "Its working copy is gone.",
  ]) {
    await using engine = await openEngine({
      profiles,
      model: () => "done",
      middleware: [
        {
          turn() {
            throw new Error(words);
          },
        },
      ],
    });
    const { result, runId } = await engine.run({ task: "go", profile: "lead" });
    expect(result).toMatchObject({ status: "failed", closeReason: "policy_denied" });
    expect(await replayAgain(engine.store, runId)).toMatchObject(same);
  }
});
