import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { beforeEach, expect, it } from "vitest";
import { checkStore } from "../events/checker/check-store.ts";
import type { Checkpoint } from "../events/checkpoint.ts";
import { SqliteStore } from "../stores/sqlite/sqlite-store.ts";
import { StoredRun } from "../testing/stored-run.ts";
import { testFolder } from "../testing/test-folder.test-support.ts";
import { takeCheckpoint } from "./checkpoint-file.ts";

let path: string;

beforeEach(() => {
  path = join(testFolder(), "mandate.db");
});

async function withStore<Value>(use: (store: SqliteStore) => Promise<Value>): Promise<Value> {
  const store = new SqliteStore({ path, synchronous: "normal", artifacts: null });
  try {
    return await use(store);
  } finally {
    await store.close();
  }
}

/** Two runs whose events alternate in the log, and that are both empty but for their ends. */
async function twoRuns(): Promise<Checkpoint> {
  return withStore(async (store) => {
    const [one, two] = [await StoredRun.start(store), await StoredRun.start(store)];
    await one.finish();
    await two.finish();
    const { checkpoint, report } = await takeCheckpoint(store, 1000);
    expect(report.violations).toEqual([]);
    if (checkpoint === undefined) throw new Error("there is no checkpoint");
    return checkpoint;
  });
}

const against = (checkpoint: Checkpoint) =>
  withStore(async (store) => (await checkStore(store, { against: checkpoint })).violations);

it("holds for the log that it was taken of, and for all that is added", async () => {
  const checkpoint = await twoRuns();
  expect(checkpoint).toMatchObject({ seq: 4, runs: [{ events: 2 }, { events: 2 }] });
  expect(await against(checkpoint)).toEqual([]);
  await withStore(async (store) => (await StoredRun.start(store)).finish());
  expect(await against(checkpoint)).toEqual([]);
});

it("holds when runs of it are pruned, one after the other", async () => {
  const checkpoint = await twoRuns();
  for (const most of [1, 1]) {
    await withStore((store) =>
      store.prune({ actor: "ann", finishedBefore: Date.now() + 1000, most }),
    );
    expect(await against(checkpoint)).toEqual([]);
  }
});

it("finds runs whose events changed places in the order of the log", async () => {
  const checkpoint = await twoRuns();
  const database = new DatabaseSync(path);
  // The first events of the two runs; each run by itself is as it was.
  database.exec(`UPDATE event_batches SET first_seq = 100 WHERE first_seq = 1;
                 UPDATE event_batches SET first_seq = 1 WHERE first_seq = 2;
                 UPDATE event_batches SET first_seq = 2 WHERE first_seq = 100`);
  database.close();
  const [violation, ...others] = await against(checkpoint);
  expect(violation).toMatchObject({
    invariant: "I1",
    message: expect.stringContaining("another order"),
  });
  expect(others).toEqual([]);
});

it("is not given for a log that does not hold", async () => {
  await twoRuns();
  const database = new DatabaseSync(path);
  database.exec("UPDATE runs SET outcome = 'succeeded'");
  database.close();
  const { checkpoint, report } = await withStore((store) => takeCheckpoint(store, 1000));
  expect(checkpoint).toBeUndefined();
  expect(report.ok).toBe(false);
});
