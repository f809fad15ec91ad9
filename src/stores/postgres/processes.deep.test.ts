import { afterEach, beforeEach, describe, expect, it, onTestFinished } from "vitest";
import { checkStore } from "../../events/checker/check-store.ts";
import { dropDatabase, freshDatabase } from "../../testing/postgres.test-support.ts";
import { assertSound, collect, notes, StoredRun } from "../../testing/stored-run.ts";
import { until } from "../../testing/until.ts";
import { untilTheyHave } from "../sqlite/process-beside.test-support.ts";
import { PostgresStore } from "./postgres-store.ts";
import { isUnderWay, startWriter } from "./writer-beside.test-support.ts";

let url: string;

beforeEach(async () => {
  url = await freshDatabase();
});

afterEach(() => dropDatabase(url));

const open = (): Promise<PostgresStore> => PostgresStore.open({ url, leaseMs: 60_000, pollMs: 50 });

describe("several processes on one Postgres", () => {
  it("create the schema together, write side by side and lose nothing", async () => {
    const writers = Array.from({ length: 3 }, () => startWriter(url, 100, 60_000));
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
    await until("the last event is heard", () => heard.at(-1) === all.at(-1)?.seq);
    const first = heard[0] ?? 0;
    expect(heard).toEqual(heard.map((_, index) => first + index));
    await store.close();
  }, 60_000);

  it("refuse one that was stopped and comes back after its run was taken over", async () => {
    const zombie = startWriter(url, 1e9, 1000);
    onTestFinished(() => void zombie.process.kill("SIGKILL"));
    const store = await open();
    await untilTheyHave("written for a while", [zombie], () => isUnderWay(zombie));
    zombie.process.kill("SIGSTOP");
    const runId = zombie.acknowledged[0]?.run_id ?? "";
    await until("its lease ends", () => store.claimRun(runId));
    zombie.process.kill("SIGCONT");
    expect(await zombie.ended).toBe(0);
    expect(zombie.lines.at(-1)).toBe("fenced");
    const log = await collect(store, { runId });
    expect(log.at(-1)?.type).toBe("run.resumed");
    await assertSound(store, zombie.acknowledged);
    await store.close();
  }, 60_000);
});
