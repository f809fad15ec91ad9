import assert from "node:assert/strict";
import type { NewEvent, StoredEvent } from "../events/event.ts";
import { canonical, genesis, link } from "../events/hash-chain.ts";
import type { KeyedRequest, KeyStanding, Store } from "../ports/store.ts";
import {
  about,
  attempted,
  collect,
  note,
  notes,
  refused,
  StoredRun,
  type StoreTest,
  started,
} from "./stored-run.ts";

export const appendingTests: readonly StoreTest[] = [
  {
    title: "gives back what it stored, numbered, and chained from the run's own beginning",
    async run({ store }) {
      const run = await StoredRun.start(store);
      const id = await run.child();
      await run.append(note(id, "a"), note(id, "b"));
      const events = await collect(store, { runId: run.id });
      let head = genesis(run.id);
      for (const [index, event] of events.entries()) {
        head = link(head, canonical(event as NewEvent, event.at, event.summary));
        assert.equal(event.hash, head);
        assert.equal(event.run_seq, index + 1);
        assert.equal(event.seq, (events[0]?.seq ?? 0) + index);
        assert.equal(event.run_id, run.id);
      }
      const [last] = await run.append(note(id, "c"));
      assert.deepEqual(await collect(store, { after: (last?.seq ?? 0) - 1 }), [last]);
    },
  },
  {
    title: "takes effect in the order of the calls, awaited or not",
    async run({ store }) {
      const run = await StoredRun.start(store);
      const id = await run.child();
      const texts = Array.from({ length: 500 }, (_, index) => String(index));
      await Promise.all(texts.map((text) => run.append(note(id, text))));
      assert.deepEqual(notes(await collect(store, { runId: run.id })), texts);
    },
  },
  {
    title: "is durable when it resolves",
    async run({ store, reopen }) {
      const run = await StoredRun.start(store);
      const id = await run.child();
      const acknowledged = await run.append(note(id, "kept"));
      const other = await reopen();
      assert.deepEqual((await collect(other)).slice(-1), acknowledged);
      await store.close();
      const later = await reopen();
      assert.deepEqual((await collect(later)).slice(-1), acknowledged);
      assert.equal((await later.readRun(run.id))?.delegations.get(id)?.status, "running");
    },
  },
  {
    title: "writes nothing of an append in which one event is illegal",
    async run({ store }) {
      const run = await StoredRun.start(store);
      const id = await run.child();
      const before = await collect(store);
      await refused(run.append(note(id, "legal"), started(id)), "illegal-transition");
      assert.deepEqual(await collect(store), before);
      const [next] = await run.append(note(id, "next"));
      assert.equal(next?.run_seq, before.length + 1);
    },
  },
  {
    title: "judges each append of a turn by itself: a refused one does not touch the others",
    async run({ store }) {
      const run = await StoredRun.start(store);
      const id = await run.child();
      const ghost = store.newDelegationId();
      const outcomes = await Promise.allSettled([
        run.append(note(id, "one")),
        store.append(run.creation(ghost, started(ghost), started(ghost))),
        run.append(note(ghost, "after a creation that was refused")),
        run.append(note(id, "two")),
      ]);
      assert.deepEqual(
        outcomes.map(({ status }) => status),
        ["fulfilled", "rejected", "rejected", "fulfilled"],
      );
      assert.deepEqual(notes(await collect(store)), ["one", "two"]);
      assert.equal((await store.readRun(run.id))?.delegations.has(ghost), false);
    },
  },
  {
    title: "knows a delegation only once it is created, and creates it once",
    async run({ store }) {
      const run = await StoredRun.start(store);
      await refused(run.append(note(store.newDelegationId(), "who?")), "unknown-delegation");
      const id = await run.child();
      await refused(store.append(run.creation(id)), "illegal-transition");
    },
  },
  {
    title: "accepts nothing for a run that has not started, and nothing after its end",
    async run({ store }) {
      const unborn = { runId: store.newRunId(), by: "operator" } as const;
      const plan: NewEvent = { type: "run.planned", payload: { by: "a", call_id: "1", steps: [] } };
      await refused(store.append({ ...unborn, events: [plan] }), "illegal-transition");
      assert.equal(await store.readRun(unborn.runId), undefined);
      const run = await StoredRun.start(store);
      await run.finish();
      await refused(run.append(plan), "illegal-transition");
      await refused(run.finish(), "illegal-transition");
      assert.equal((await collect(store)).length, 2);
    },
  },
  {
    title: "starts a run once",
    async run({ store }) {
      const run = await StoredRun.start(store);
      const id = await run.child();
      const [first] = await collect(store);
      const again = { type: first?.type, payload: first?.payload } as NewEvent;
      await refused(run.append(again), "illegal-transition");
      await run.append(note(id, "continues"));
    },
  },
  {
    title: "starts no run under a name that is no run's",
    async run({ store }) {
      const payload = { task: "t", application: "a", workspace: null, budget: { tokens: 1 } };
      for (const runId of ["", "r", "c00000", "rABCDEF", "../etc"]) {
        const start = { type: "run.started", payload: { ...payload, ...store.ownership } } as const;
        await refused(store.append({ runId, by: store.ownership, events: [start] }), "unknown-run");
      }
      assert.deepEqual(await collect(store), []);
    },
  },
  {
    title: "refuses with a conflict those who decided by an older reading",
    async run({ store }) {
      const run = await StoredRun.start(store);
      const id = await run.child();
      const read = (await store.readRun(run.id))?.lastRunSeq ?? 0;
      const decided = (text: string): Promise<readonly StoredEvent[]> =>
        store.append({ runId: run.id, by: "operator", events: [note(id, text)], ifRunSeq: read });
      await decided("first");
      await refused(decided("second"), "conflict");
      assert.deepEqual(notes(await collect(store)), ["first"]);
    },
  },
  {
    title: "fences off who does not own the run, and lets an operator in, within the rules",
    async run({ store }) {
      const run = await StoredRun.start(store);
      const id = await run.child();
      const append = { runId: run.id, events: [note(id, "x")] };
      await refused(store.append({ ...append, by: { ...run.by, fence: 0 } }), "fenced");
      await refused(store.append({ ...append, by: { ...run.by, worker: "nobody" } }), "fenced");
      await store.append({ ...append, by: "operator" });
      const illegal = { runId: run.id, by: "operator", events: [started(id)] } as const;
      await refused(store.append(illegal), "illegal-transition");
      assert.deepEqual(notes(await collect(store)), ["x"]);
    },
  },
  {
    title: "keeps awkward texts to the letter",
    async run({ store, reopen }) {
      const run = await StoredRun.start(store);
      const id = await run.child();
      const texts = ["\ud800 alone", "nul \u0000 in it", '"],["', "😀".repeat(3), "\u2028", ""];
      await run.append(...texts.map((text) => note(id, text)));
      const odd = JSON.parse('{"__proto__": 1, "b": -0, "1": 1e21, "a": [null]}');
      await run.append(
        about(id, "agent.model_turn", {
          requested: "m/m",
          served: null,
          usage: { prompt: 0, completion: 0, cost: 0.1 + 0.2 },
          finish_reason: "stop",
          provider_data: odd,
        }),
      );
      const events = await collect(await reopen());
      assert.deepEqual(notes(events), texts);
      const turn = events.at(-1) as StoredEvent<"agent.model_turn">;
      assert.equal(JSON.stringify(turn.payload.provider_data), JSON.stringify(odd));
    },
  },
  {
    title: "takes a very large append whole, or not at all",
    async run({ store, reopen }) {
      const run = await StoredRun.start(store);
      const id = await run.child();
      const many = Array.from({ length: 5000 }, (_, index) => note(id, String(index)));
      const acknowledged = await run.append(...many);
      assert.equal(acknowledged.length, 5000);
      await refused(run.append(...many, attempted(id), started(id)), "illegal-transition");
      const stored = await collect(await reopen(), { runId: run.id });
      assert.deepEqual(stored.slice(-5000), acknowledged);
    },
  },
  {
    title: "writes what was appended before it is closed, and nothing after that",
    async run({ store, reopen }) {
      const run = await StoredRun.start(store);
      const id = await run.child();
      const texts = Array.from({ length: 4000 }, (_, index) => String(index));
      const appends = texts.map((text) => run.append(note(id, text)));
      await store.close();
      await Promise.all(appends);
      assert.deepEqual(notes(await collect(await reopen())), texts);
      await refused(run.append(note(id, "late")), "closed");
    },
  },
];

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
