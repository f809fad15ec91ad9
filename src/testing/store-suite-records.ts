import assert from "node:assert/strict";
import { controlRunId } from "../ports/identity.ts";
import type { StoreTest } from "./store-suite.ts";
import { change } from "./stored-records.ts";
import { collect, refused } from "./stored-run.ts";

export const recordTests: readonly StoreTest[] = [
  {
    title: "makes, changes and deletes a record, and never uses a version twice",
    async run({ store, reopen }) {
      assert.equal(await store.readRecord("policy", "a"), undefined);
      const [made] = await store.changeRecords([change("a", 0, { n: 1 })], "ann");
      assert.ok(made);
      assert.deepEqual(
        [made.resourceType, made.resourceId, made.version, made.value, made.updatedBy],
        ["policy", "a", 1, { n: 1 }, "ann"],
      );
      assert.deepEqual(await store.readRecord("policy", "a"), made);
      const [changed] = await store.changeRecords([change("a", 1, { n: 2 })], "bob");
      assert.deepEqual([changed?.version, changed?.updatedBy], [2, "bob"]);
      assert.deepEqual(await store.changeRecords([change("a", 2, null)], "bob"), [null]);
      assert.equal(await store.readRecord("policy", "a"), undefined);
      assert.deepEqual(await store.listRecords("policy"), []);
      await refused(store.changeRecords([change("a", 3, { n: 3 })], "bob"), "conflict");
      const other = await reopen();
      const [again] = await other.changeRecords([change("a", 0, { n: 3 })], "ann");
      assert.equal(again?.version, 4);
      assert.deepEqual(await store.readRecord("policy", "a"), again);
    },
  },
  {
    title: "refuses a change of another version, says which, and has written nothing",
    async run({ store }) {
      await store.changeRecords([change("a", 0, 1)], "ann");
      await store.changeRecords([change("a", 1, 2)], "ann");
      const before = await collect(store, { runId: controlRunId });
      for (const [expected, says] of [
        [1, /policy\/a .*version 1 and is at version 2/],
        [3, /policy\/a .*version 3 and is at version 2/],
        [0, /policy\/a .*not there yet and is at version 2/],
      ] as const) {
        const changing = store.changeRecords([change("a", expected, "x")], "eve");
        await assert.rejects(changing, says);
        await refused(changing, "conflict");
      }
      const missing = store.changeRecords([change("b", 7, "x")], "eve");
      await assert.rejects(missing, /policy\/b .*version 7 and is not there/);
      assert.equal((await store.readRecord("policy", "a"))?.value, 2);
      assert.equal(await store.readRecord("policy", "b"), undefined);
      assert.deepEqual(await collect(store, { runId: controlRunId }), before);
    },
  },
  {
    title: "makes several changes at once, or none of them",
    async run({ store }) {
      const both = [change("a", 0, "a1"), change("b", 0, "b1")];
      const made = await store.changeRecords(both, "ann");
      assert.deepEqual(
        made.map((record) => record?.value),
        ["a1", "b1"],
      );
      const before = await collect(store);
      const stale = [change("a", 1, "a2"), change("c", 0, "c1"), change("b", 9, "b2")];
      await refused(store.changeRecords(stale, "ann"), "conflict");
      assert.deepEqual(await store.listRecords("policy"), made);
      assert.deepEqual(await collect(store), before);
      const mixed = [change("a", 1, null), change("c", 0, "c1"), change("b", 1, "b2")];
      const [gone, ...kept] = await store.changeRecords(mixed, "ann");
      assert.equal(gone, null);
      assert.deepEqual(
        kept.map((record) => [record?.resourceId, record?.version, record?.value]),
        [
          ["c", 1, "c1"],
          ["b", 2, "b2"],
        ],
      );
      assert.deepEqual(await store.changeRecords([], "ann"), []);
    },
  },
  {
    title: "judges changes of one turn one after the other",
    async run({ store }) {
      const outcomes = await Promise.allSettled([
        store.changeRecords([change("a", 0, 1)], "first"),
        store.changeRecords([change("a", 0, 2)], "late"),
        store.changeRecords([change("a", 1, 3)], "second"),
        store.changeRecords([change("a", 2, null)], "third"),
        store.changeRecords([change("a", 3, 4)], "mistaken"),
        store.changeRecords([change("a", 0, 5)], "fourth"),
      ]);
      assert.deepEqual(
        outcomes.map(({ status }) => status === "fulfilled"),
        [true, false, true, true, false, true],
      );
      const now = await store.readRecord("policy", "a");
      assert.deepEqual([now?.version, now?.value, now?.updatedBy], [4, 5, "fourth"]);
      const actors = (await collect(store, { runId: controlRunId })).map(
        ({ payload }) => "actor" in payload && payload.actor,
      );
      assert.deepEqual(actors, ["first", "second", "third", "fourth"]);
    },
  },
  {
    title: "lists the records of a type, those with a prefix, in the order of their ids",
    async run({ store }) {
      const ids = ["pin:b", "pin:", "pin:\u{10ffff}x", "pin", "pin;", "Pin:a", "pin:ä", "pin:%_*"];
      await store.changeRecords(
        ids.map((id) => change(id, 0, id)),
        "ann",
      );
      await store.changeRecords([{ ...change("pin:z", 0, 1), resourceType: "profile" }], "ann");
      const listed = async (type: string, prefix?: string) =>
        (await store.listRecords(type, prefix)).map(({ resourceId }) => resourceId);
      assert.deepEqual((await listed("policy")).toSorted(), ids.toSorted());
      const pins = ["pin:", "pin:%_*", "pin:b", "pin:ä", "pin:\u{10ffff}x"];
      assert.deepEqual(await listed("policy", "pin:"), pins);
      assert.deepEqual(await listed("policy", "pin:%"), ["pin:%_*"]);
      assert.deepEqual(await listed("profile"), ["pin:z"]);
      assert.deepEqual(await listed("policy", "nothing"), []);
      assert.deepEqual(await listed("nothing"), []);
    },
  },
  {
    title: "keeps a change that it has acknowledged, and takes none when it is closed",
    async run({ store, reopen }) {
      const [made] = await store.changeRecords([change("a", 0, "kept")], "ann");
      const unheard = store.changeRecords([change("b", 0, "asked for before the end")], "ann");
      await store.close();
      await unheard;
      await refused(store.changeRecords([change("c", 0, 1)], "ann"), "closed");
      await refused(store.noteCommand("/help", "ann", "done"), "closed");
      const later = await reopen();
      assert.deepEqual(await later.readRecord("policy", "a"), made);
      assert.equal((await later.listRecords("policy")).length, 2);
    },
  },
];
