import assert from "node:assert/strict";
import { controlRunId } from "../ports/identity.ts";
import type { StoreTest } from "./store-suite.ts";
import { addOne, change } from "./stored-records.ts";
import { assertSound, collect, note, refused, StoredRun } from "./stored-run.ts";

export const recordSharingTests: readonly StoreTest[] = [
  {
    title: "judges a change by what is stored, whoever wrote it",
    async run({ store, reopen }) {
      const other = await reopen();
      await store.changeRecords([change("a", 0, 1)], "ann");
      await refused(other.changeRecords([change("a", 0, 2)], "bob"), "conflict");
      await other.changeRecords([change("a", 1, 2)], "bob");
      await refused(store.changeRecords([change("a", 1, 3)], "ann"), "conflict");
      assert.deepEqual(
        await store.readRecord("policy", "a"),
        await other.readRecord("policy", "a"),
      );
      await other.changeRecords([change("a", 2, null)], "bob");
      const [again] = await store.changeRecords([change("a", 0, 4)], "ann");
      assert.equal(again?.version, 4);
    },
  },
  {
    title: "loses no update when several processes add to one record",
    async run({ store, reopen }) {
      const stores = [store, await reopen(), await reopen()];
      await Promise.all(
        stores.map(async (one, index) => {
          for (let round = 0; round < 20; round++) await addOne(one, "sum", `process ${index}`);
        }),
      );
      const sum = await store.readRecord("policy", "sum");
      assert.deepEqual([sum?.value, sum?.version], [{ count: 60 }, 60]);
      const logs = await Promise.all(stores.map((one) => collect(one, { runId: controlRunId })));
      for (const log of logs) assert.deepEqual(log, logs[0]);
      assert.deepEqual(
        logs[0]?.map(({ payload }) => "version" in payload && payload.version),
        Array.from({ length: 60 }, (_, index) => index + 1),
      );
    },
  },
  {
    title: "lets runs go on beside changes of records, in one gap-free order",
    async run({ store, reopen }) {
      const other = await reopen();
      const run = await StoredRun.start(store);
      const id = await run.child();
      const acknowledged = [];
      for (let round = 0; round < 20; round++) {
        const [noted] = await Promise.all([
          run.append(note(id, `${round}`)),
          addOne(other, "sum", "other"),
          addOne(store, "sum", "owner"),
          other.noteCommand("/agents list", "other", "listed"),
        ]);
        acknowledged.push(...noted);
      }
      assert.equal((await store.readRecord("policy", "sum"))?.version, 40);
      assert.equal((await collect(other, { runId: controlRunId })).length, 60);
      await assertSound(store, acknowledged);
    },
  },
  {
    title: "goes on where the log ends, also after it has grown long",
    async run({ store, reopen }) {
      const run = await StoredRun.start(store);
      const id = await run.child();
      for (let round = 0; round < 50; round++) {
        await Promise.all([
          addOne(store, "sum", "ann"),
          ...Array.from({ length: 60 }, (_, index) => run.append(note(id, String(index)))),
        ]);
      }
      const other = await reopen();
      await addOne(other, "sum", "bob");
      const log = await collect(other, { runId: controlRunId });
      assert.deepEqual([log.length, log.at(-1)?.run_seq], [51, 51]);
      await assertSound(other, log);
    },
  },
];
