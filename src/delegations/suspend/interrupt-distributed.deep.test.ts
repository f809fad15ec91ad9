import { expect, it } from "vitest";
import { isPaused } from "../../events/run-state.ts";
import { ofType } from "../../testing/engine-fixture.ts";
import { openFleet } from "../../testing/fleet.test-support.ts";
import { until } from "../../testing/until.ts";
import { busy } from "../busy-tool.test-support.ts";
import { delegate, profiles, Scene, startScene, statesOf } from "./interrupt-scene.test-support.ts";

const openWorkers = (scene: Scene) => openFleet(3, { profiles, tools: [busy], model: scene.model });

it("a distributed run is paused on all of its workers, and resumed it completes", async () => {
  const scene = new Scene(delegate("rester", "nest a"), delegate("ender", "b"));
  await using fleet = await openWorkers(scene);
  const { client } = fleet;
  const { result, runId } = await startScene(client, 4);
  expect(await client.engine.interrupt(runId, "later")).toMatchObject({ outcome: "paused" });
  expect(await statesOf(client, runId)).toEqual({
    ...{ lead: "paused", rester: "paused", leaf: "paused" },
    ender: "cancelled",
  });
  const { length } = await client.events(runId);
  await until("no worker has anything of it", () =>
    fleet.workers.every(({ engine }) => engine.liveRuns.length === 0),
  );
  expect(await client.events(runId)).toHaveLength(length);
  scene.mayStop = true;
  await client.engine.resume(runId);
  expect(await result).toMatchObject({ status: "completed" });
});

it("an interrupt is obeyed once, also when the worker of the root is killed at that moment", async () => {
  const scene = new Scene(delegate("rester", "a"), delegate("goer", "b"));
  await using fleet = await openWorkers(scene);
  const { client } = fleet;
  const { delegationId, result, runId } = await startScene(client, 3);
  const holder = fleet.given.findLast((one) => one.delegationId === delegationId)?.worker ?? 0;
  const interrupting = client.engine.interrupt(runId, "later");
  fleet.kill(holder);
  const { settled } = await interrupting;
  expect(await statesOf(client, runId)).toMatchObject({ rester: "paused" });
  scene.mayStop = true;
  await settled;
  const state = await client.store.readRun(runId);
  expect(state && isPaused(state)).toBe(true);
  expect(ofType(await client.events(runId), "agent.interrupted")).toHaveLength(1);
  await client.engine.resume(runId);
  expect(await result).toMatchObject({ status: "completed" });
});
