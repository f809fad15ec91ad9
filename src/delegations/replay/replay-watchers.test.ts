import { setTimeout as pause } from "node:timers/promises";
import { expect, test } from "vitest";
import type { Script } from "../../models/scripted/scripted-model.ts";
import { isDistributed, notOffered } from "../../testing/alter-database.test-support.ts";
import { ofType, openEngine, type TestEngine, testProfile } from "../../testing/engine-fixture.ts";
import { until } from "../../testing/until.ts";
import { replayAgain } from "./replay-again.test-support.ts";

const same = { differences: [], isFinished: true };
const profiles = [
  testProfile("boss", { capabilities: ["primary"], tools: ["list_files"] }),
  testProfile("pair", { capabilities: ["watcher"], tools: ["interject", "list_files"] }),
];
const limits = { watchIntervalMs: 5 };
const list = (path: string) => ({ tool: "list_files", input: { path } });

/** A run with a watcher whose worker dies as soon as `isDue`; another one brings it to its end. */
async function crashWhen(
  script: (isRecovered: boolean) => Script,
  isDue: (events: Awaited<ReturnType<TestEngine["events"]>>) => boolean,
) {
  const engine = await openEngine({ profiles, model: script(false), limits });
  const { workspace } = engine;
  const { runId } = await engine.start({
    ...{ task: "work", profile: "boss", workspace, watchers: ["pair"] },
  });
  await until("the moment to die", async () => isDue(await engine.events(runId)));
  engine.abandon();
  const second = await engine.another({ profiles, model: script(true), limits });
  const [recovered] = await second.engine.recover(runId);
  expect((await recovered?.result)?.status).toBe("completed");
  await until("the run ends", async () => (await second.store.readRun(runId))?.outcome !== null);
  return { engine, second, runId };
}

const shownIn = (events: Awaited<ReturnType<TestEngine["events"]>>) =>
  ofType(events, "agent.interjected").filter(({ payload }) => payload.from === "session");

test("a watcher that was taken up after a crash is shown the same again, and remarks the same", async ({
  skip,
}) => {
  skip(isDistributed, notOffered.replay);
  const script =
    (isRecovered: boolean): Script =>
    async ({ caller }) => {
      if (caller.profile === "pair") {
        const remark = { severity: "warn", message: `remark ${caller.turn}` };
        return caller.turn < 4 ? { calls: [{ tool: "interject", input: remark }] } : "ok";
      }
      if (caller.turn === 3 && !isRecovered) await new Promise(() => undefined);
      await pause(20);
      return caller.turn < 5 ? { calls: [list(".")] } : "done";
    };
  const { engine, second, runId } = await crashWhen(script, (events) =>
    shownIn(events).some(({ payload }) => payload.message.includes("list_files gave")),
  );
  await using _engine = engine;
  const events = await second.events(runId);
  expect(ofType(events, "agent.resumed").length).toBe(2);
  const [end] = ofType(events, "agent.subagent_waiting_for_merge").filter(({ payload }) =>
    payload.output.startsWith("Watched "),
  );
  const said = ofType(events, "agent.interjected").filter(({ payload }) =>
    payload.from.startsWith("watcher:"),
  );
  // Those before the crash count as well.
  expect(end?.payload.output).toContain(`: ${said.length} remarks.`);
  const upTo = shownIn(events).at(-1)?.seq ?? 0;
  expect(upTo).toBeGreaterThan(ofType(events, "run.resumed")[0]?.seq ?? 0);
  expect(await replayAgain(second.store, runId)).toMatchObject(same);
});

test("a watcher whose worker died in the middle of its request or its call goes the same way", async ({
  skip,
}) => {
  skip(isDistributed, notOffered.replay);
  const script =
    (isRecovered: boolean): Script =>
    async ({ caller }) => {
      if (caller.profile === "pair") {
        if (!isRecovered && caller.turn === 2) await new Promise(() => undefined);
        return caller.turn === 1 ? { calls: [list(".")] } : "ok";
      }
      if (caller.turn === 2 && !isRecovered) await new Promise(() => undefined);
      await pause(10);
      return caller.turn < 4 ? { calls: [list(".")] } : "done";
    };
  const { engine, second, runId } = await crashWhen(
    script,
    (events) => ofType(events, "agent.budget_reserved").length === 4,
  );
  await using _engine = engine;
  expect(await replayAgain(second.store, runId)).toMatchObject(same);
});
