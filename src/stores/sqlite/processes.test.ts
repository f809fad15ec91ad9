import { join } from "node:path";
import { beforeEach, describe, expect, it } from "vitest";
import { type Acknowledged, checkStore } from "../../events/checker/check-store.ts";
import { assertSound, collect, notes, StoredRun } from "../../testing/stored-run.ts";
import { testFolder } from "../../testing/test-folder.test-support.ts";
import { until } from "../../testing/until.ts";
import { type ProcessBeside, startBeside, untilTheyHave } from "./process-beside.test-support.ts";
import { SqliteStore } from "./sqlite-store.ts";

let path: string;

beforeEach(() => {
  path = join(testFolder(), "mandate.db");
});

const open = (): SqliteStore =>
  new SqliteStore({ path, synchronous: "normal", artifacts: null, pollMs: 10 });

interface Writer extends ProcessBeside {
  readonly acknowledged: Acknowledged[];
}

function startWriter(appends: number): Writer {
  const acknowledged: Acknowledged[] = [];
  const beside = startBeside(
    new URL("./write-beside.test-support.ts", import.meta.url),
    [path, appends],
    (line) => {
      // A line that a kill cut short acknowledges nothing.
      if (line.endsWith("}")) acknowledged.push(JSON.parse(line) as Acknowledged);
    },
  );
  return { ...beside, acknowledged };
}

describe("several processes on one database", () => {
  it("create it together, write side by side and lose nothing", async () => {
    const writers = [startWriter(150), startWriter(150), startWriter(150)];
    const store = open();
    const run = await StoredRun.start(store);
    const heard: number[] = [];
    store.subscribe((events) => heard.push(...events.map(({ seq }) => seq)));
    const id = await run.child();
    expect(await Promise.all(writers.map(({ ended }) => ended))).toEqual([0, 0, 0]);
    const acknowledged = writers.flatMap((writer) => writer.acknowledged);
    expect(acknowledged).toHaveLength(450);
    const report = await checkStore(store, { acknowledged });
    expect(report.violations).toEqual([]);
    expect(report.delegations).toBe(4);
    expect(id).toMatch(/^[0-9a-f]{6}$/);
    const all = await collect(store);
    expect(notes(all)).toHaveLength(450);
    await until("the last event is heard", () => heard.at(-1) === all.at(-1)?.seq);
    expect(heard).toEqual(heard.toSorted((left, right) => left - right));
    expect(new Set(heard).size).toBe(heard.length);
    await store.close();
  });

  it("leave the runs of those that live alone, and hand those of the killed to one", async () => {
    const [killed, living] = [startWriter(1e9), startWriter(1e9)];
    try {
      const isUnderWay = ({ acknowledged }: Writer): boolean => acknowledged.length > 40;
      await untilTheyHave("written for a while", [killed, living], () =>
        [killed, living].every(isUnderWay),
      );
      const stores = [open(), open()];
      const [lost = "", kept = ""] = [killed, living].map(
        ({ acknowledged }) => acknowledged[0]?.run_id,
      );
      expect(await stores[0]?.claimRun(lost)).toBeUndefined();
      killed.process.kill("SIGKILL");
      await killed.ended;
      const claims = await Promise.all(stores.map((store) => store.claimRun(lost)));
      expect(claims.filter((claim) => claim !== undefined)).toMatchObject([{ fence: 2 }]);
      expect(await stores[0]?.claimRun(kept)).toBeUndefined();
      living.process.kill("SIGKILL");
      await living.ended;
      for (const store of stores) {
        await assertSound(store, [...killed.acknowledged, ...living.acknowledged]);
        await store.close();
      }
    } finally {
      killed.process.kill("SIGKILL");
      living.process.kill("SIGKILL");
    }
  });
});
