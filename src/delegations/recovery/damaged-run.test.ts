import { expect, it } from "vitest";
import {
  alterDatabase,
  isDistributed,
  isOnPostgres,
  notOffered,
} from "../../testing/alter-database.test-support.ts";
import { openEngine, testProfile } from "../../testing/engine-fixture.ts";

const profiles = [testProfile("worker")];

it("a run that somebody damaged keeps no other from being taken up", async ({ skip }) => {
  skip(isDistributed, notOffered.ownership);
  skip(isOnPostgres, "the rows that it damages are those of SQLite");
  const breaks = ["I1", "I2", "I5", "I7", "I14", "I15", "I18"] as const;
  await using mandate = await openEngine({ profiles, model: () => ({ fault: "hang" }), breaks });
  const damaged = await mandate.start({ task: "one", profile: "worker" });
  const sound = await mandate.start({ task: "two", profile: "worker" });
  mandate.abandon();
  await alterDatabase(
    mandate,
    `UPDATE event_batches SET events = '!' WHERE events LIKE '%"task":"one"%'`,
  );
  const next = await mandate.another({ profiles, model: () => "done" });
  const refused: string[] = [];
  const recovered = await next.engine.recover(undefined, ({ code, message }) =>
    refused.push(`${code}: ${message}`),
  );
  expect(recovered.map(({ runId }) => runId)).toEqual([sound.runId]);
  expect(await recovered[0]?.result).toMatchObject({ status: "completed", result: "done" });
  expect(refused).toEqual([
    expect.stringContaining(`database-unusable: The events of run ${damaged.runId}`),
  ]);
  // Whoever does not ask to be told hears of it all the same.
  await expect(next.engine.recover()).rejects.toMatchObject({ code: "database-unusable" });
});
