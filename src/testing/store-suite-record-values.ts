import assert from "node:assert/strict";
import { maximumRecordBytes, maximumRecordDepth } from "../events/record-text.ts";
import type { StoreTest } from "./store-suite.ts";
import { change } from "./stored-records.ts";
import { collect, refused } from "./stored-run.ts";

export const recordValueTests: readonly StoreTest[] = [
  {
    title: "keeps awkward values to the letter, apart from what the caller goes on to do with them",
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
      const unsaid = { said: 1, unsaid: undefined };
      const [again] = await store.changeRecords([change("a", 1, unsaid)], "ann");
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
