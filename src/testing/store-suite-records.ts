import assert from "node:assert/strict";
import type { NewEvent, StoredEvent } from "../events/event.ts";
import { sha256 } from "../events/hash-chain.ts";
import { maximumRecordBytes, maximumRecordDepth } from "../events/record-change.ts";
import { controlRunId } from "../ports/identity.ts";
import {
  assertSound,
  change,
  collect,
  note,
  refused,
  StoredRun,
  type StoreTest,
} from "./stored-run.ts";

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

export const recordValueTests: readonly StoreTest[] = [
  {
    title:
      "keeps awkward values to the letter, independent of what the caller does with them later",
    async run({ store, reopen }) {
      const text =
        '{"__proto__":{"admin":true},"constructor":1,"b":[null,"\\ud800","\\u0000"],"1":1e21}';
      const value = JSON.parse(text) as { b: unknown[] };
      const [made] = await store.changeRecords([change("a", 0, value)], "ann");
      value.b.push("later");
      assert.ok(made);
      (made.value as typeof value).b.push("later");
      const kept = await (await reopen()).readRecord("policy", "a");
      assert.ok(kept);
      assert.equal(JSON.stringify(kept.value), JSON.stringify(JSON.parse(text)));
      assert.ok(Object.hasOwn(kept.value as object, "__proto__"));
      assert.equal((kept.value as { admin?: unknown }).admin, undefined);
      assert.equal(({} as { admin?: unknown }).admin, undefined);
      const withUndefined = { said: 1, missing: undefined };
      const [again] = await store.changeRecords([change("a", 1, withUndefined)], "ann");
      assert.equal(JSON.stringify(again?.value), '{"said":1}');
      for (const [version, plain] of [false, 0, "", [], {}].entries()) {
        const [record] = await store.changeRecords([change("p", version, plain)], "ann");
        assert.deepEqual(record?.value, plain);
      }
    },
  },
  {
    title: "takes large and deep values up to a limit, and refuses what is more or is no JSON",
    async run({ store }) {
      const nested = (depth: number): unknown => JSON.parse("[".repeat(depth) + "]".repeat(depth));
      const large = "x".repeat(maximumRecordBytes - 2);
      await store.changeRecords(
        [change("deep", 0, nested(maximumRecordDepth)), change("large", 0, large)],
        "ann",
      );
      assert.equal((await store.readRecord("policy", "large"))?.value, large);
      const itself: Record<string, unknown> = {};
      itself["left"] = itself;
      itself["right"] = itself;
      const ownText = { toJSON: () => ({ admin: true }) };
      const values: readonly unknown[] = [
        ...[
          nested(maximumRecordDepth + 1),
          `${large}x`,
          "ä".repeat(maximumRecordBytes / 2),
          itself,
        ],
        ...[undefined, () => 1, Symbol("s"), 1n, Number.NaN, Number.POSITIVE_INFINITY, new Date()],
        ...[new Map(), [undefined], { in: { the: new Set() } }, { f() {} }, ownText],
        Array.from({ length: maximumRecordBytes }, () => 1),
      ];
      const before = await collect(store);
      for (const value of values) {
        const changing = store.changeRecords([change("a", 0, "fine"), change("b", 0, value)], "me");
        await refused(changing, "usage");
        await assert.rejects(changing, /policy\/b/);
      }
      assert.equal(await store.readRecord("policy", "a"), undefined);
      assert.deepEqual(await collect(store), before);
    },
  },
  {
    title: "refuses names that are none, and one record twice",
    async run({ store }) {
      const good = change("a", 0, 1);
      for (const resourceType of ["", "Policy", "a/b", "a b", "1a", "x".repeat(65)]) {
        await refused(store.changeRecords([{ ...good, resourceType }], "ann"), "usage");
      }
      for (const id of ["", "a\nb", "a\u0000", "\ud800", "a\u2028b", "x".repeat(2001)]) {
        await refused(store.changeRecords([change(id, 0, 1)], "ann"), "usage");
        await refused(store.changeRecords([good], id), "usage");
      }
      for (const version of [-1, 0.5, Number.NaN, Number.POSITIVE_INFINITY]) {
        await refused(store.changeRecords([change("a", version, 1)], "ann"), "usage");
      }
      await refused(store.changeRecords([good, change("a", 1, 2)], "ann"), "usage");
      await refused(store.changeRecords([change("a", 0, null)], "ann"), "usage");
      assert.deepEqual(await collect(store), []);
    },
  },
];

export const controlLogTests: readonly StoreTest[] = [
  {
    title: "writes every change and command down in a log of its own, which can be heard",
    async run({ store, reopen }) {
      const heard: StoredEvent[] = [];
      store.subscribe((events) => heard.push(...events));
      const run = await StoredRun.start(store);
      const [made] = await store.changeRecords([change("a", 0, { n: 1 })], "ann");
      const id = await run.child();
      await store.noteCommand("/agents list", "bob", "listed");
      await store.changeRecords([change("a", 1, null)], "bob");
      await run.append(note(id, "on"));
      const log = await collect(store, { runId: controlRunId });
      const hash = sha256('{"n":1}');
      assert.deepEqual(
        log.map(({ type, payload, run_seq }) => ({ type, run_seq, ...payload })),
        [
          {
            type: "control.record_changed",
            run_seq: 1,
            record: "policy/a",
            actor: "ann",
            version: 1,
            before_hash: null,
            after_hash: hash,
          },
          {
            type: "command.executed",
            run_seq: 2,
            command: "/agents list",
            actor: "bob",
            outcome: "listed",
          },
          {
            type: "control.record_changed",
            run_seq: 3,
            record: "policy/a",
            actor: "bob",
            version: 2,
            before_hash: hash,
            after_hash: null,
          },
        ],
      );
      assert.equal(log[0]?.at, made?.updatedAt);
      const all = await collect(store);
      assert.deepEqual(heard, all);
      assert.deepEqual(
        all.filter((event) => event.run_id === controlRunId),
        log,
      );
      const after = { runId: controlRunId, after: log[1]?.seq ?? 0 };
      assert.deepEqual(await collect(await reopen(), after), log.slice(2));
      await assertSound(store, all);
    },
  },
  {
    title: "does not take that log for a run, nor anything else into it",
    async run({ store, reopen }) {
      await store.changeRecords([change("a", 0, 1)], "ann");
      const run = await StoredRun.start(store);
      const id = await run.child();
      const before = await collect(store);
      assert.equal(await store.readRun(controlRunId), undefined);
      assert.equal(await store.findRun(controlRunId), undefined);
      assert.equal(await store.claimRun(controlRunId), undefined);
      assert.equal(await (await reopen()).claimRun(controlRunId), undefined);
      assert.deepEqual(
        (await store.listRuns({})).map((row) => row.id),
        [run.id],
      );
      const own = { record: "policy/a", actor: "eve", version: 2, before_hash: null };
      const ofControl: readonly NewEvent[] = [
        { type: "control.record_changed", payload: { ...own, after_hash: sha256("2") } },
        { type: "command.executed", payload: { command: "/x", actor: "eve", outcome: "done" } },
      ];
      const started: NewEvent = {
        type: "run.started",
        payload: {
          task: "t",
          application: "a",
          workspace: null,
          budget: { tokens: 1 },
          ...store.ownership,
        },
      };
      for (const event of [...ofControl, started, note(id, "x")]) {
        for (const by of ["operator", store.ownership] as const) {
          const appending = store.append({ runId: controlRunId, by, events: [event] });
          await refused(appending, "illegal-transition");
        }
      }
      for (const event of ofControl) await refused(run.append(event), "illegal-transition");
      const unborn = { runId: store.newRunId(), by: "operator" } as const;
      await refused(store.append({ ...unborn, events: [...ofControl] }), "illegal-transition");
      assert.deepEqual(await collect(store), before);
      const ids = Array.from({ length: 5000 }, () => store.newRunId());
      assert.ok(!ids.includes(controlRunId));
    },
  },
  {
    title: "remembers of a long command its beginning",
    async run({ store }) {
      await store.noteCommand(`${"x".repeat(499)}😀 and more`, "a".repeat(900), "o".repeat(900));
      const [event] = await collect(store, { runId: controlRunId });
      assert.deepEqual(event?.payload, {
        command: "x".repeat(499),
        actor: "a".repeat(500),
        outcome: "o".repeat(500),
      });
    },
  },
];
