import assert from "node:assert/strict";
import type { KeyedRequest, KeyStanding, Store } from "../ports/store.ts";
import type { StoreTest } from "./store-suite.ts";
import { refused } from "./stored-run.ts";

const request = (key: string, fingerprint = "f", principal = "ann"): KeyedRequest => ({
  principal,
  key,
  fingerprint,
});

const begin = ({ idempotency }: Store, one: KeyedRequest): Promise<KeyStanding> =>
  idempotency.begin(one, 0);

export const idempotencyTests: readonly StoreTest[] = [
  {
    title: "lets a request begin once, and gives its reply to every repetition",
    async run({ store, reopen }) {
      assert.deepEqual(await begin(store, request("k")), { is: "begun" });
      assert.deepEqual(await begin(store, request("k")), { is: "running" });
      const other = await reopen();
      assert.deepEqual(await begin(other, request("k")), { is: "running" });
      const reply = { status: 202, body: '{"runId":"r1 \u{1f600} \\u0000"}' };
      await store.idempotency.finish(request("k"), reply);
      for (const one of [store, other]) {
        assert.deepEqual(await begin(one, request("k")), { is: "finished", reply });
      }
    },
  },
  {
    title: "tells another request under the same key apart, whatever became of the first",
    async run({ store }) {
      await begin(store, request("k"));
      assert.deepEqual(await begin(store, request("k", "other")), { is: "taken" });
      await store.idempotency.finish(request("k"), { status: 200, body: "{}" });
      assert.deepEqual(await begin(store, request("k", "other")), { is: "taken" });
    },
  },
  {
    title: "keeps the keys of each principal to itself",
    async run({ store }) {
      await begin(store, request("k"));
      await store.idempotency.finish(request("k"), { status: 200, body: '"of ann"' });
      assert.deepEqual(await begin(store, request("k", "f", "bob")), { is: "begun" });
      assert.deepEqual(await begin(store, request("k\0", "f", "bob")), { is: "begun" });
      await store.idempotency.abandon(request("k", "f", "bob"));
      assert.equal((await begin(store, request("k"))).is, "finished");
    },
  },
  {
    title: "lets one of many begin, in one process and in several",
    async run({ store, reopen }) {
      const stores = [store, await reopen(), await reopen()];
      const standings = await Promise.all(
        stores.flatMap((one) => Array.from({ length: 10 }, () => begin(one, request("k")))),
      );
      assert.equal(standings.filter(({ is }) => is === "begun").length, 1);
      assert.equal(standings.filter(({ is }) => is === "running").length, 29);
    },
  },
  {
    title: "frees the key of a request that was abandoned, and of no other",
    async run({ store, reopen }) {
      await begin(store, request("k"));
      await (await reopen()).idempotency.abandon(request("k"));
      assert.deepEqual(await begin(store, request("k")), { is: "running" });
      await store.idempotency.abandon(request("k"));
      assert.deepEqual(await begin(store, request("k", "another")), { is: "begun" });
      await store.idempotency.finish(request("k"), { status: 200, body: "{}" });
      await store.idempotency.abandon(request("k"));
      assert.equal((await begin(store, request("k", "another"))).is, "finished");
    },
  },
  {
    title:
      "does not know the outcome of a request whose process is gone, and never begins it again",
    async run({ store, reopen }) {
      await begin(store, request("cut"));
      await begin(store, request("done"));
      await store.idempotency.finish(request("done"), { status: 201, body: "1" });
      await store.close();
      await refused((async () => begin(store, request("late")))(), "closed");
      const later = await reopen();
      assert.deepEqual(await begin(later, request("cut")), { is: "unknown" });
      assert.deepEqual(await begin(later, request("cut")), { is: "unknown" });
      assert.deepEqual(await begin(later, request("cut", "other")), { is: "taken" });
      await later.idempotency.finish(request("cut"), { status: 200, body: "made up" });
      assert.deepEqual(await begin(later, request("cut")), { is: "unknown" });
      const reply = { status: 201, body: "1" };
      assert.deepEqual(await begin(later, request("done")), { is: "finished", reply });
    },
  },
  {
    title: "forgets what is old, but not what is still running",
    async run({ store, reopen }) {
      const gone = await reopen();
      await begin(gone, request("cut"));
      await gone.close();
      await begin(store, request("done"));
      await store.idempotency.finish(request("done"), { status: 200, body: "{}" });
      await begin(store, request("running"));
      const future = Date.now() + 60_000;
      const beginLater = (key: string) => store.idempotency.begin(request(key, "new"), future);
      assert.deepEqual(await beginLater("running"), { is: "taken" });
      assert.deepEqual(await beginLater("done"), { is: "begun" });
      assert.deepEqual(await beginLater("cut"), { is: "begun" });
    },
  },
];
