import { expect, test } from "vitest";
import { askWorkersOnce } from "../events/is-worked-on.ts";
import { isDistributed, notOffered } from "../testing/alter-database.test-support.ts";
import { openEngine, testProfile } from "../testing/engine-fixture.ts";
import { until } from "../testing/until.ts";
import { listedRun } from "./listed-run.ts";

const profiles = [testProfile("talker", { tools: [], capabilities: ["primary"] })];

test("a run that changes its worker and ends after its row was read is listed as it is then", async ({
  skip,
}) => {
  skip(isDistributed, notOffered.ownership);
  const gate = Promise.withResolvers<string>();
  let asked = 0;
  const model = () => {
    asked++;
    return gate.promise;
  };
  await using first = await openEngine({ profiles, model });
  const { runId } = await first.start({ task: "go", profile: "talker" });
  await until("the model is asked", () => asked === 1);
  const [row] = await first.store.listRuns({});
  if (row === undefined) throw new Error("the run is not listed");
  first.abandon();
  const second = await first.another({ profiles, model });
  const { store } = second;
  const look = () => listedRun(store, row, askWorkersOnce(store));

  expect(await look()).toMatchObject({ state: "interrupted", row: { worker: row.worker } });
  const [recovered] = await second.engine.recover();
  const running = await look();
  expect(running).toMatchObject({ state: "running", row: { id: runId, outcome: null } });
  expect(running.row.worker).not.toBe(row.worker);

  gate.resolve("done");
  await recovered?.result;
  await until("the run has ended", async () => (await store.readRun(runId))?.outcome !== null);
  expect(await look()).toMatchObject({
    state: "succeeded",
    row: { outcome: "succeeded", finishedAt: expect.any(Number) },
  });
});
