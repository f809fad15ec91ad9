import { expect, test } from "vitest";
import { MandateError } from "../../ports/mandate-error.ts";
import { isDistributed } from "../../testing/alter-database.test-support.ts";
import { openEngine, type TestEngine, testProfile } from "../../testing/engine-fixture.ts";
import { until } from "../../testing/until.ts";

const profiles = [
  testProfile("lead", { tools: ["delegate_task"] }),
  testProfile("leaf", { tools: [] }),
  testProfile("hog", { tools: [] }),
];

/** What a process that was taken for dead hears: the run is somebody else's now. */
async function takeOver({ store }: TestEngine, runId: string): Promise<void> {
  const fence = ((await store.readRun(runId))?.fence ?? 0) + 1;
  const by = { worker: "another", fence };
  await store.append({ runId, by, events: [{ type: "run.resumed", payload: by }] });
}

// Slots of one process are what this is about; who works on what of a spread run is in its queues.
test.skipIf(isDistributed)(
  "an agent that queues for its slot while its run goes to another process keeps none",
  async () => {
    const [leafBegan, leafMayEnd] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const [hogBegan, hogMayEnd] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    await using mandate = await openEngine({
      maxConcurrent: 1,
      profiles,
      // The other process that has the run now is not there to end it.
      breaks: ["I1"],
      model: async ({ caller }) => {
        if (caller.profile === "lead" && caller.turn > 1) return "done";
        if (caller.profile === "hog") {
          hogBegan.resolve();
          await hogMayEnd.promise;
          return "done";
        }
        if (caller.profile === "leaf") {
          leafBegan.resolve();
          await leafMayEnd.promise;
          return "done";
        }
        return { calls: [{ tool: "delegate_task", input: { profile: "leaf", task: "a part" } }] };
      },
    });
    const { scheduler } = mandate.parts;
    const { runId } = await mandate.start({ task: "mine", profile: "lead" });
    await leafBegan.promise;
    const hog = await mandate.start({ task: "the slot", profile: "hog" });
    leafMayEnd.resolve();
    await hogBegan.promise;
    // The leaf has ended, the hog has the only slot, and the lead wants it back.
    await until("the lead queues", () => scheduler.queued > 0);
    await takeOver(mandate, runId);
    hogMayEnd.resolve();
    await hog.result;
    const next = await mandate.start({ task: "what comes next", profile: "leaf" });
    expect(await next.result).toMatchObject({ status: "completed" });
    expect(scheduler.running).toBe(0);
  },
);

test.skipIf(isDistributed)(
  "an agent that was refused, and whose log cannot be read, is ended once it can be",
  async () => {
    const [asked, mayAnswer] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    await using mandate = await openEngine({
      profiles,
      async model() {
        asked.resolve();
        await mayAnswer.promise;
        return "done";
      },
    });
    const { runId, result } = await mandate.start({ task: "alone", profile: "leaf" });
    await asked.promise;
    const { store } = mandate;
    const { append, readRun } = store;
    const failing = (code: "fenced" | "database-unusable") => () =>
      Promise.reject(new MandateError(code, "Not now."));
    store.append = failing("fenced");
    store.readRun = failing("database-unusable");
    mayAnswer.resolve();
    expect(await result).toMatchObject({ status: "failed", closeReason: "worker_lost" });
    store.append = append;
    store.readRun = readRun;
    await until("it is ended", async () => (await store.readRun(runId))?.outcome !== null);
    expect(await mandate.engine.resultOf(runId)).toMatchObject({ closeReason: "worker_lost" });
  },
);
