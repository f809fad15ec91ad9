import assert from "node:assert/strict";
import { join } from "node:path";
import fc from "fast-check";
import { expect, it, onTestFinished, vi } from "vitest";
import type { StoredEvent } from "../../events/event.ts";
import { collect, note, StoredRun } from "../../testing/stored-run.ts";
import { testFolder } from "../../testing/test-folder.test-support.ts";
import { SqliteStore } from "./sqlite-store.ts";

function open(path = ":memory:"): SqliteStore {
  const store = new SqliteStore({ path, synchronous: "normal", artifacts: null });
  onTestFinished(() => store.close());
  return store;
}

const hashes = (events: readonly StoredEvent[]) => events.map(({ hash, seq }) => [seq, hash]);

it("gives any part of a log as the whole of it has that part, hashes included", async () => {
  await fc.assert(
    fc.asyncProperty(
      // Who says how much in one transaction: beyond 32 events a batch is full.
      fc.array(fc.tuple(fc.nat(5), fc.integer({ min: 1, max: 70 })), { maxLength: 12 }),
      fc.boolean(),
      async (saying, looksEarly) => {
        const store = new SqliteStore({ path: ":memory:", synchronous: "normal", artifacts: null });
        const runs = [await StoredRun.start(store), await StoredRun.start(store)];
        const ids: string[] = [];
        for (const run of runs) for (let count = 0; count < 3; count++) ids.push(await run.child());
        for (const [who, many] of saying) {
          const run = runs[who < 3 ? 0 : 1];
          const id = ids[who] ?? "";
          await run?.append(...Array.from({ length: many }, (_, index) => note(id, `${index}`)));
          // What was looked through before it grew is not looked through again.
          if (looksEarly) await collect(store, { delegationId: id });
        }
        const all = await collect(store);
        const last = all.at(-1)?.seq ?? 0;
        for (const after of [0, 1, 7, 31, 32, 33, 64, Math.floor(last / 2), last - 1, last]) {
          for (const { id } of runs) {
            const own = all.filter(({ run_id, seq }) => run_id === id && seq > after);
            assert.deepEqual(hashes(await collect(store, { runId: id, after })), hashes(own));
          }
          for (const delegationId of ids) {
            const own = all.filter((event) => event.sub_agent_id === delegationId);
            const part = own.filter(({ seq }) => seq > after);
            assert.deepEqual(hashes(await collect(store, { delegationId, after })), hashes(part));
          }
        }
        await store.close();
      },
    ),
    { numRuns: 40 },
  );
});

it("lets others have a turn while it reads a long log", async () => {
  const store = open();
  const run = await StoredRun.start(store);
  const id = await run.child();
  const text = "x".repeat(2000);
  for (let count = 0; count < 100; count += 1) {
    await run.append(...Array.from({ length: 100 }, () => note(id, text)));
  }
  let turns = 0;
  const timer = setInterval(() => {
    turns += 1;
  }, 1);
  expect((await collect(store, { runId: run.id })).length).toBe(10_004);
  clearInterval(timer);
  expect(turns).toBeGreaterThan(0);
});

it("knows what another process adds to a run that it was asked about before", async () => {
  const path = join(testFolder(), "mandate.db");
  const [writer, reader] = [open(path), open(path)];
  const run = await StoredRun.start(writer);
  const id = await run.child();
  expect((await reader.readRun(run.id))?.lastRunSeq).toBe(4);
  expect((await collect(reader, { delegationId: id })).length).toBe(3);
  await run.append(note(id, "more"));
  expect((await reader.readRun(run.id))?.lastRunSeq).toBe(5);
  expect((await collect(reader, { delegationId: id })).length).toBe(4);
  await run.finish();
  const finished = await reader.readRun(run.id);
  expect(finished?.outcome).toBe("failed");
  expect(finished?.head).toBe((await writer.readRun(run.id))?.head);
});

it("finds all that was said of a delegation while many other runs are asked about", async () => {
  const store = open();
  const run = await StoredRun.start(store);
  const id = await run.child();
  await run.append(...Array.from({ length: 5000 }, (_, index) => note(id, `${index}`)));
  const others: string[] = [];
  for (let count = 0; count < 40; count += 1) {
    others.push(await (await StoredRun.start(store)).child());
  }
  // Every look at the clock is long after the one before: so everybody gets a turn at every page.
  let now = 0;
  const clock = vi.spyOn(performance, "now").mockImplementation(() => (now += 1000));
  onTestFinished(() => clock.mockRestore());
  const all = [id, ...others].map((one) => collect(store, { delegationId: one }));
  const counts = (await Promise.all(all)).map((events) => events.length);
  expect(counts).toEqual([5003, ...others.map(() => 3)]);
});

it("keeps no finished run in memory because of a refused append", async () => {
  const store = open();
  const run = await StoredRun.start(store);
  await run.finish();
  await expect(run.finish()).rejects.toMatchObject({ code: "illegal-transition" });
  const [once, again] = [await store.readRun(run.id), await store.readRun(run.id)];
  expect(again).toEqual(once);
  expect(again).not.toBe(once);
});
