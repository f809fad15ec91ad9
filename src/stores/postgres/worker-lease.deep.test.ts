import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { systemClock } from "../../ports/clock.ts";
import { ManualClock } from "../../testing/manual-clock.ts";
import { dropDatabase, execute, freshDatabase } from "../../testing/postgres.test-support.ts";
import { assertSound, collect, note, notes, refused, StoredRun } from "../../testing/stored-run.ts";
import { until } from "../../testing/until.ts";
import { PostgresStore, type PostgresStoreOptions } from "./postgres-store.ts";

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

/** Its lease ends when a test ends it, however busy the machine is. */
async function open(options: Partial<PostgresStoreOptions> = {}): Promise<PostgresStore> {
  const store = await PostgresStore.open({ url, pollMs: 50, leaseMs: 60_000, ...options });
  opened.push(store);
  return store;
}

const expire = (worker: string) =>
  execute(
    url,
    "UPDATE mandate.workers SET expires_at = now() - interval '1 minute' WHERE id = $1",
    [worker],
  );

describe("a lease", () => {
  it("is by the clock of the database: one that is an hour off changes nothing", async () => {
    const hour = 3_600_000;
    const shifted = (by: number) => ({
      clock: { ...systemClock, now: () => Date.now() + by },
    });
    const stores = [await open(shifted(-hour)), await open(shifted(hour)), await open()];
    const [early, late] = stores as [PostgresStore, PostgresStore, PostgresStore];
    const runs = [await StoredRun.start(early), await StoredRun.start(late)];
    for (const store of stores) {
      for (const other of stores) {
        expect(await store.isWorkerAlive(other.ownership.worker)).toBe(true);
      }
      for (const run of runs) expect(await store.claimRun(run.id)).toBeUndefined();
    }
    await early.close();
    expect(await late.claimRun(runs[0]?.id ?? "")).toMatchObject({ fence: 2 });
  });

  it("that has expired is renewed if no run was taken over", async () => {
    const [store, other] = [await open(), await open()];
    const run = await StoredRun.start(store);
    const id = await run.child();
    await expire(store.ownership.worker);
    expect(await other.isWorkerAlive(store.ownership.worker)).toBe(false);
    await run.append(note(id, "still here"));
    expect(await other.isWorkerAlive(store.ownership.worker)).toBe(true);
    expect(await other.claimRun(run.id)).toBeUndefined();
  });

  it("ends for good when a run is taken over: every append is refused, of every run", async () => {
    const [store, other] = [await open(), await open()];
    const [lost, kept] = [await StoredRun.start(store), await StoredRun.start(store)];
    const [one, two] = [await lost.child(), await kept.child()];
    const { worker } = store.ownership;
    await expire(worker);
    expect(await other.claimRun(lost.id)).toMatchObject({ fence: 2 });
    await refused(lost.append(note(one, "zombie")), "fenced");
    // Nobody has taken this one over, and still it is not its worker's any more.
    await refused(kept.append(note(two, "zombie")), "fenced");
    expect(await other.claimRun(kept.id)).toMatchObject({ fence: 2 });
    expect(notes(await collect(other))).toEqual([]);
    await assertSound(other);
    // The process itself goes on under another name.
    await until("the worker has another name", () => store.ownership.worker !== worker);
    const anew = await StoredRun.start(store);
    await anew.append(note(await anew.child(), "new name"));
    await refused(kept.append(note(two, "zombie")), "fenced");
  });

  it("is not taken from who beats between the question and the claim", async () => {
    const [store, other] = [await open(), await open()];
    const run = await StoredRun.start(store);
    const id = await run.child();
    for (let round = 0; round < 20; round++) {
      await expire(store.ownership.worker);
      const [claim, appended] = await Promise.all([
        other.claimRun(run.id),
        run.append(note(id, "?")).then(
          () => true,
          (error: { code?: string }) => error.code,
        ),
      ]);
      if (claim !== undefined) {
        expect([true, "fenced"]).toContain(appended);
        await refused(run.append(note(id, "zombie")), "fenced");
        break;
      }
      expect(appended).toBe(true);
    }
    await assertSound(other);
  });

  it("is put off by beating, and ends with an orderly end at once", async () => {
    const clock = new ManualClock();
    const [store, other] = [await open({ clock, pollMs: 1e9 }), await open()];
    const { worker } = store.ownership;
    for (let round = 0; round < 4; round++) {
      await expire(worker);
      expect(await other.isWorkerAlive(worker)).toBe(false);
      // A worker beats five times within its lease.
      await clock.advance(12_000);
      await until("the worker has beaten", () => other.isWorkerAlive(worker));
    }
    expect(store.ownership.worker).toBe(worker);
    await store.close();
    expect(await other.isWorkerAlive(worker)).toBe(false);
  });
});
