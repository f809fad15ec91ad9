import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { type Acknowledged, checkStore } from "../../events/checker/check-store.ts";
import { dropDatabase, freshDatabase } from "../../testing/postgres.test-support.ts";
import { assertSound, collect, notes, StoredRun } from "../../testing/stored-run.ts";
import { type ProcessBeside, startBeside, until } from "../sqlite/process-beside.test-support.ts";
import { PostgresStore } from "./postgres-store.ts";

let url: string;

beforeEach(async () => {
  url = await freshDatabase();
});

afterEach(() => dropDatabase(url));

interface Writer extends ProcessBeside {
  readonly acknowledged: Acknowledged[];
}

function startWriter(appends: number): Writer {
  const acknowledged: Acknowledged[] = [];
  const script = new URL("./write-beside.test-support.ts", import.meta.url);
  const beside = startBeside(script, [url, appends, 1000], (line) => {
    // A line that a kill cut short acknowledges nothing.
    if (line.endsWith("}")) acknowledged.push(JSON.parse(line) as Acknowledged);
  });
  return { ...beside, acknowledged };
}

const open = (): Promise<PostgresStore> => PostgresStore.open({ url, leaseMs: 1000, pollMs: 50 });

async function claimSoon(store: PostgresStore, runId: string): Promise<number> {
  const start = performance.now();
  for (;;) {
    if ((await store.claimRun(runId)) !== undefined) return performance.now() - start;
    if (performance.now() - start > 10_000) throw new Error("nobody could take it over");
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

describe("several processes on one Postgres", () => {
  it("create the schema together, write side by side and lose nothing", async () => {
    const writers = [startWriter(100), startWriter(100), startWriter(100)];
    const store = await open();
    const run = await StoredRun.start(store);
    const heard: number[] = [];
    store.subscribe((events) => heard.push(...events.map(({ seq }) => seq)));
    await run.child();
    expect(await Promise.all(writers.map(({ ended }) => ended))).toEqual([0, 0, 0]);
    const acknowledged = writers.flatMap((writer) => writer.acknowledged);
    expect(acknowledged).toHaveLength(300);
    const report = await checkStore(store, { acknowledged });
    expect(report.violations).toEqual([]);
    expect(report.delegations).toBe(4);
    const all = await collect(store);
    expect(notes(all)).toHaveLength(300);
    await until(() => heard.at(-1) === all.at(-1)?.seq);
    const first = heard[0] ?? 0;
    expect(heard).toEqual(heard.map((_, index) => first + index));
    await store.close();
  }, 60_000);

  it("leave the runs of those that live alone, and hand those of the killed to one", async () => {
    const [killed, living] = [startWriter(1e9), startWriter(1e9)];
    const stores = [await open(), await open()];
    try {
      const isUnderWay = ({ acknowledged }: Writer): boolean => acknowledged.length > 20;
      await until(() => isUnderWay(killed) && isUnderWay(living), [killed, living]);
      killed.process.kill("SIGKILL");
      await killed.ended;
      const [lost = "", kept = ""] = [killed, living].map(
        ({ acknowledged }) => acknowledged[0]?.run_id ?? "",
      );
      const [one, other] = stores as [PostgresStore, PostgresStore];
      expect(await claimSoon(one, lost)).toBeLessThan(5000);
      expect(await other.claimRun(lost)).toBeUndefined();
      expect(await one.claimRun(kept)).toBeUndefined();
      await assertSound(one, [...killed.acknowledged, ...living.acknowledged]);
    } finally {
      living.process.kill("SIGKILL");
      await living.ended;
      for (const store of stores) await store.close();
    }
  }, 60_000);

  it("refuse one that was stopped and comes back after its run was taken over", async () => {
    const zombie = startWriter(1e9);
    const store = await open();
    await until(() => zombie.acknowledged.length > 20, [zombie]);
    zombie.process.kill("SIGSTOP");
    const runId = zombie.acknowledged[0]?.run_id ?? "";
    await claimSoon(store, runId);
    zombie.process.kill("SIGCONT");
    expect(await zombie.ended).toBe(0);
    expect(zombie.lines.at(-1)).toBe("fenced");
    const log = await collect(store, { runId });
    expect(log.at(-1)?.type).toBe("run.resumed");
    await assertSound(store, zombie.acknowledged);
    await store.close();
  }, 60_000);
});
