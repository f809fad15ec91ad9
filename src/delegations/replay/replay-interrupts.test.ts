import { setTimeout as delay } from "node:timers/promises";
import { beforeEach, expect, test } from "vitest";
import { z } from "zod";
import { noExposure } from "../../contracts/exposure.ts";
import { isPaused } from "../../events/run-state.ts";
import type { Script } from "../../models/scripted/scripted-model.ts";
import { isDistributed, notOffered } from "../../testing/alter-database.test-support.ts";
import { openEngine, type TestEngine, testProfile } from "../../testing/engine-fixture.ts";
import { until } from "../../testing/until.ts";
import { defineTool } from "../../tools/tool.ts";
import { busy } from "../busy-tool.test-support.ts";
import {
  delegate,
  openWith,
  Scene,
  startScene,
  profiles as team,
} from "../suspend/interrupt-scene.test-support.ts";
import { replayAgain } from "./replay-again.test-support.ts";

beforeEach(({ skip }) => skip(isDistributed, notOffered.replay));

const look = defineTool({
  name: "look",
  description: "Looks something up.",
  effect: "read",
  exposure: noExposure,
  idempotent: true,
  scopes: [],
  input: z.strictObject({ n: z.int() }),
  async execute({ n }) {
    await delay(2);
    return `saw ${n}`;
  },
});

const profiles = [
  testProfile("boss", { capabilities: ["primary"], tools: "*" }),
  testProfile("ender", { tools: ["look"] }),
  testProfile("goer", { tools: ["look"], onParentInterrupt: "continue" }),
  testProfile("rester", { tools: ["look"], onParentInterrupt: "pause" }),
];

/** More than there can be before the interrupt. */
const turns = 12;
const working =
  (...children: readonly string[]): Script =>
  ({ caller }) => {
    if (caller.profile !== "boss") {
      const calls = [{ tool: "look", input: { n: caller.turn } }];
      return caller.turn < turns ? { latency_ms: 2, calls } : `${caller.profile} is done`;
    }
    const delegate = (profile: string) => ({
      tool: "delegate_task",
      input: { profile, task: profile },
    });
    return caller.turn === 1 ? { calls: children.map(delegate) } : "went on";
  };

async function interrupted(engine: TestEngine) {
  const started = await engine.start({ task: "go", profile: "boss" });
  const agents = async () => [
    ...((await engine.store.readRun(started.runId))?.delegations.values() ?? []),
  ];
  await until("a child has had some turns", async () =>
    (await agents()).slice(1).some((one) => one.turns > 1),
  );
  await (await engine.engine.interrupt(started.runId, "enough")).settled;
  return started;
}

async function resumeAndReplay(engine: TestEngine): Promise<void> {
  const { result, runId } = await interrupted(engine);
  await engine.engine.recover(runId);
  expect(await result).toMatchObject({ status: "completed", result: "went on" });
  expect(await replayAgain(engine.store, runId)).toMatchObject({
    differences: [],
    isFinished: true,
  });
}

test("those who went on after an interrupt go on again, and their caller ends after them", async () => {
  const model = working("goer", "ender");
  await using engine = await openEngine({ profiles, tools: [look], model });
  const { runId } = await interrupted(engine);
  expect(await replayAgain(engine.store, runId)).toMatchObject({
    differences: [],
    isFinished: true,
  });
});

test("a run that rests is replayed as far as it came", async () => {
  const model = working("rester", "goer", "ender");
  await using engine = await openEngine({ profiles, tools: [look], model });
  const { runId } = await interrupted(engine);
  const run = await engine.store.readRun(runId);
  expect(run && isPaused(run)).toBe(true);
  expect(await replayAgain(engine.store, runId)).toMatchObject({
    differences: [],
    isFinished: false,
  });
});

test("a run that was paused and resumed is replayed to its end", async () => {
  const model = working("rester", "goer", "ender");
  await using engine = await openEngine({ profiles, tools: [look], model });
  await resumeAndReplay(engine);
});

test("a run of which nobody went on, paused in the middle of requests, is replayed to its end", async () => {
  const slow: Script = (request) => {
    const reply = working("rester", "rester")(request);
    return typeof reply === "object" && "latency_ms" in reply
      ? { ...reply, latency_ms: 15 }
      : reply;
  };
  await using engine = await openEngine({ profiles, tools: [look], model: slow });
  await resumeAndReplay(engine);
});

test("a session whose children went on without it is replayed with them", async () => {
  await using engine = await openEngine({ profiles, tools: [look], model: working() });
  const session = await engine.engine.openSession({ client: "other" });
  await session.call("spawn", { profile: "goer", task: "goer" });
  await session.close();
  const outcome = async () => (await engine.store.readRun(session.runId))?.outcome;
  await until("the session ends", async () => (await outcome()) !== null);
  expect(await replayAgain(engine.store, session.runId)).toMatchObject({
    differences: [],
    isFinished: true,
  });
});

test("a run whose process was killed after an interrupt is replayed as a person resumed it", async () => {
  const scene = new Scene(delegate("goer", "a"), delegate("rester", "b"));
  await using engine = await openWith(scene);
  const { runId } = await startScene(engine, 3);
  expect((await engine.engine.interrupt(runId, "bye")).outcome).toBe("continuing");
  engine.abandon();
  const next = await engine.another({ profiles: team, tools: [busy], model: scene.model });
  scene.mayStop = true;
  const resumed = await next.engine.resume(runId);
  expect(await resumed.result).toMatchObject({ status: "completed", result: "heard 2" });
  expect(await replayAgain(next.store, runId)).toMatchObject({
    differences: [],
    isFinished: true,
  });
});

test("a session whose process was killed is replayed as a person resumed it", async () => {
  const scene = new Scene();
  await using engine = await openWith(scene);
  const session = await engine.engine.openSession({ client: "other" });
  for (const who of ["ender", "goer", "rester"]) {
    await session.call("spawn", { profile: who, task: who });
  }
  await until("all are asked", () => new Set(scene.asked).size === 3);
  engine.abandon();
  const next = await engine.another({ profiles: team, tools: [busy], model: scene.model });
  scene.mayStop = true;
  const resumed = await next.engine.resume(session.runId);
  expect(await resumed.result).toMatchObject({ closeReason: "parent_crash" });
  expect(await replayAgain(next.store, session.runId)).toMatchObject({
    differences: [],
    isFinished: true,
  });
});
