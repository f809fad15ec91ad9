import assert from "node:assert/strict";
import type { NewEvent, StoredEvent } from "../events/event.ts";
import { sha256 } from "../events/hash-chain.ts";
import { controlRunId } from "../ports/identity.ts";
import type { StoreTest } from "./store-suite.ts";
import { change } from "./stored-records.ts";
import { assertSound, collect, note, refused, StoredRun } from "./stored-run.ts";

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
