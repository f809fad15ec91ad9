import { afterEach, beforeEach, expect, it, onTestFinished } from "vitest";
import { systemClock } from "../../ports/clock.ts";
import { controlRunId, runNumberOf } from "../../ports/identity.ts";
import { dropDatabase, execute, freshDatabase } from "../../testing/postgres.test-support.ts";
import { collect, note, StoredRun } from "../../testing/stored-run.ts";
import { BatchReader } from "./batch-rows.ts";
import { openDatabase } from "./open-database.ts";
import { PostgresStore } from "./postgres-store.ts";
import { RunCache } from "./run-cache.ts";

let url: string;
let opened: PostgresStore[];

beforeEach(async () => {
  url = await freshDatabase();
  opened = [];
});

afterEach(async () => {
  for (const store of opened) await store.close();
  await dropDatabase(url);
});

/** It looks around when it writes, and at no other moment. */
async function open(): Promise<PostgresStore> {
  const store = await PostgresStore.open({ url, pollMs: 1e9, leaseMs: 60_000 });
  opened.push(store);
  return store;
}

it("all who take a run at the same time are given one state, also of the control log", async () => {
  const store = await open();
  await store.noteCommand("/x", "ann", "done");
  const run = await StoredRun.start(store);
  const database = await openDatabase({ url, answerMs: 10_000 });
  try {
    for (const id of [controlRunId, run.id]) {
      const cache = new RunCache(database, new BatchReader(database), 0, systemClock);
      const [first, second] = await Promise.all([cache.take(id), cache.take(id)]);
      expect(first.lastRunSeq).toBe(1);
      expect(second).toBe(first);
      expect(cache.get(id)).toBe(first);
    }
  } finally {
    await database.close();
  }
});

it("a run that was damaged is nothing to the others: they are heard, read and written", async () => {
  const [store, beside] = [await open(), await open()];
  const own = await StoredRun.start(store);
  const id = await own.child();
  const heard: number[] = [];
  const warnings: string[] = [];
  const warned = ({ message }: Error): number => warnings.push(message);
  process.on("warning", warned);
  onTestFinished(() => void process.off("warning", warned));
  const hurt = await StoredRun.start(beside);
  const child = await hurt.child();
  // Both work on it, so it is in the memory of both.
  const say = { runId: hurt.id, by: "operator", events: [note(child, "from outside")] } as const;
  await store.append(say);
  await hurt.append(note(child, "damaged"));
  await execute(
    url,
    `UPDATE mandate.event_batches SET events = '[1]' WHERE run = $1 AND events LIKE '%damaged%'`,
    [runNumberOf(hurt.id)],
  );
  const sound = await StoredRun.start(beside);
  store.subscribe((events) => heard.push(...events.map(({ seq }) => seq)));
  const [refused, written] = [store.append(say), own.append(note(id, "beside it"))];
  await expect(refused).rejects.toMatchObject({ code: "database-unusable" });
  expect(await written).toHaveLength(1);
  await expect(store.append(say)).rejects.toThrow(`The events of run ${hurt.id}`);
  expect(warnings).toEqual([expect.stringContaining(`The events of run ${hurt.id}`)]);
  expect(heard).toEqual([
    ...(await collect(store, { runId: sound.id })).map(({ seq }) => seq),
    ...(await written).map(({ seq }) => seq),
  ]);
});
