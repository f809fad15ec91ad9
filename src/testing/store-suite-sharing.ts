import assert from "node:assert/strict";
import type { StoredEvent } from "../events/event.ts";
import { controlRunId } from "../ports/identity.ts";
import type { Ownership, Store } from "../ports/store.ts";
import {
  addOne,
  assertSound,
  change,
  collect,
  note,
  notes,
  refused,
  StoredRun,
  type StoreTest,
} from "./stored-run.ts";
import { until } from "./until.ts";

export const sharingTests: readonly StoreTest[] = [
  {
    title: "interleaves what several processes write, each seeing the others' events",
    async run({ store, reopen }) {
      const stores = [store, await reopen(), await reopen()];
      const runs = await Promise.all(stores.map((one) => StoredRun.start(one)));
      const acknowledged: StoredEvent[] = [];
      await Promise.all(
        runs.map(async (run) => {
          const id = await run.child();
          for (let round = 0; round < 60; round++) {
            acknowledged.push(...(await run.append(note(id, `${run.id} ${round}`))));
          }
        }),
      );
      const [mine, ...others] = await Promise.all(stores.map((one) => collect(one)));
      for (const other of others) assert.deepEqual(other, mine);
      assert.equal(mine?.length, 3 * (1 + 3 + 60));
      await assertSound(store, acknowledged);
    },
  },
  {
    title: "lets a second process act on a run beside its owner, in one gap-free order",
    async run({ store, reopen }) {
      const other = await reopen();
      const run = await StoredRun.start(store);
      const id = await run.child();
      const beside = (text: string): Promise<unknown> =>
        other.append({ runId: run.id, by: "operator", events: [note(id, text)] });
      const texts: string[] = [];
      for (let round = 0; round < 30; round++) {
        await beside(`other ${round}`);
        await run.append(note(id, `owner ${round}`));
        texts.push(`other ${round}`, `owner ${round}`);
      }
      assert.deepEqual(notes(await collect(store)), texts);
      await Promise.all([run.append(note(id, "a")), beside("b"), run.append(note(id, "c"))]);
      assert.equal((await other.readRun(run.id))?.lastRunSeq, 4 + 63);
      assert.deepEqual(await other.readRun(run.id), await store.readRun(run.id));
    },
  },
  {
    title: "lists runs by when they began, whichever process began them",
    async run({ store, reopen }) {
      const other = await reopen();
      const ids: string[] = [];
      for (const one of [store, other, store, other, store]) {
        ids.unshift((await StoredRun.start(one)).id);
        await new Promise((resolve) => setTimeout(resolve, 3));
      }
      const listed = (await store.listRuns({})).map(({ id }) => id);
      assert.deepEqual(listed, ids);
      const [, second = ""] = ids;
      const older = (await other.listRuns({ before: second, limit: 2 })).map(({ id }) => id);
      assert.deepEqual(older, ids.slice(2, 4));
    },
  },
  {
    title: "judges by what is stored, not by what this process saw last",
    async run({ store, reopen }) {
      const other = await reopen();
      const run = await StoredRun.start(store);
      const first = await run.child();
      await other.append({ runId: run.id, by: "operator", events: [note(first, "known")] });
      const second = await run.child();
      await other.append({ runId: run.id, by: "operator", events: [note(second, "new")] });
      assert.deepEqual(notes(await collect(store)), ["known", "new"]);
    },
  },
  {
    title: "gives out ids that no other process has",
    async run({ store, reopen }) {
      const stores = [store, await reopen(), await reopen()];
      const ids = stores.flatMap((one) =>
        Array.from({ length: 3000 }, () => [
          one.newDelegationId(),
          one.newRunId(),
          one.newAskId(),
        ]).flat(),
      );
      assert.equal(new Set(ids).size, ids.length);
      assert.match(store.newDelegationId(), /^[0-9a-f]{6,}$/);
    },
  },
  {
    title: "leaves a run to a worker that lives",
    async run({ store, reopen }) {
      const run = await StoredRun.start(store);
      const other = await reopen();
      assert.equal(await other.isWorkerAlive(store.ownership.worker), true);
      assert.equal(await other.claimRun(run.id), undefined);
      assert.equal(await store.claimRun(run.id), undefined);
      assert.equal((await collect(store)).length, 1);
    },
  },
  {
    title: "hands a run whose worker is gone to exactly one of those who want it",
    async run({ store, reopen }) {
      const run = await StoredRun.start(store);
      const id = await run.child();
      await store.close();
      const others = [await reopen(), await reopen(), await reopen()] as const;
      assert.equal(await others[0].isWorkerAlive(run.by.worker), false);
      const claims = await Promise.all(others.map((one) => one.claimRun(run.id)));
      const won = claims.filter((claim) => claim !== undefined);
      assert.deepEqual(
        won.map(({ fence }) => fence),
        [run.by.fence + 1],
      );
      const [owner] = won as [Ownership];
      const zombie = { runId: run.id, by: run.by, events: [note(id, "zombie")] };
      for (const one of others) await refused(one.append(zombie), "fenced");
      for (const one of others) {
        await one.append({ runId: run.id, by: owner, events: [note(id, "owner")] });
        assert.equal(await one.claimRun(run.id), undefined);
      }
      assert.deepEqual(notes(await collect(others[0])), ["owner", "owner", "owner"]);
    },
  },
  {
    title: "has no finished and no unknown run to hand over",
    async run({ store, reopen }) {
      const run = await StoredRun.start(store);
      await run.finish();
      await store.close();
      const other = await reopen();
      assert.equal(await other.claimRun(run.id), undefined);
      assert.equal(await other.claimRun("rffffff"), undefined);
      for (const worker of ["", "garbage", "1.2.3.4", "-1.0.0.0"]) {
        assert.equal(await other.isWorkerAlive(worker), false, worker);
      }
    },
  },
  {
    title: "tells subscribers every committed event once, in order, from every writer",
    async run({ store, reopen }) {
      const other = await reopen();
      const heard: StoredEvent[] = [];
      const unsubscribe = store.subscribe((events) => heard.push(...events));
      const [mine, theirs] = [await StoredRun.start(store), await StoredRun.start(other)];
      const [one, two] = [await mine.child(), await theirs.child()];
      for (let round = 0; round < 20; round++) {
        await Promise.all([mine.append(note(one, "m")), theirs.append(note(two, "t"))]);
      }
      const all = await collect(store);
      await until("other processes' events arrive", () => heard.length >= all.length);
      assert.deepEqual(heard, all);
      unsubscribe();
      await mine.append(note(one, "unheard"));
      assert.equal(heard.length, all.length);
    },
  },
  {
    title:
      "tells subscribers of a run that they meet in the moment they write to it as it is stored",
    async run({ store, reopen }) {
      const other = await reopen();
      const heard: StoredEvent[] = [];
      other.subscribe((events) => heard.push(...events));
      const run = await StoredRun.start(store);
      const id = await run.child();
      await run.append(note(id, "owner"));
      await other.append({ runId: run.id, by: "operator", events: [note(id, "beside")] });
      assert.deepEqual(heard, await collect(store));
      await assertSound(other, heard);
    },
  },
  {
    title: "tells a subscriber nothing of what was refused",
    async run({ store }) {
      const run = await StoredRun.start(store);
      const heard: StoredEvent[] = [];
      store.subscribe((events) => heard.push(...events));
      await refused(run.append(note(store.newDelegationId(), "?")), "unknown-delegation");
      await run.child();
      assert.deepEqual(heard, (await collect(store)).slice(1));
    },
  },
  {
    title: "closes twice without harm, and lets others go on",
    async run({ store, reopen }) {
      const other: Store = await reopen();
      await store.close();
      await store.close();
      const run = await StoredRun.start(other);
      await run.child();
      assert.equal((await collect(other)).length, 4);
    },
  },
];

export const recordSharingTests: readonly StoreTest[] = [
  {
    title: "judges a change by what is stored, from every writer",
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
    title: "continues where the log ends, also after it has grown long",
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
