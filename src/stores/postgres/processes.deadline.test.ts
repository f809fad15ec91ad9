import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { dropDatabase, freshDatabase } from "../../testing/postgres.test-support.ts";
import { assertSound } from "../../testing/stored-run.ts";
import { until } from "../../testing/until.ts";
import { untilTheyHave } from "../sqlite/process-beside.test-support.ts";
import { PostgresStore } from "./postgres-store.ts";
import { isUnderWay, startWriter } from "./writer-beside.test-support.ts";

let url: string;

beforeEach(async () => {
  url = await freshDatabase();
});

afterEach(() => dropDatabase(url));

const leaseMs = 1000;
/** The promise is the lease; a busy machine takes longer. */
const takeOverMs = 20 * leaseMs;

const open = (): Promise<PostgresStore> => PostgresStore.open({ url, leaseMs: 60_000, pollMs: 50 });

describe("several processes on one Postgres", () => {
  it("leave the runs of those that live alone, and hand those of the killed to one", async () => {
    const [killed, living] = [startWriter(url, 1e9, leaseMs), startWriter(url, 1e9, 60_000)];
    const stores = [await open(), await open()];
    try {
      await untilTheyHave("written for a while", [killed, living], () =>
        [killed, living].every(isUnderWay),
      );
      const killedAt = performance.now();
      killed.process.kill("SIGKILL");
      await killed.ended;
      const [lost = "", kept = ""] = [killed, living].map(
        ({ acknowledged }) => acknowledged[0]?.run_id ?? "",
      );
      const [one, other] = stores as [PostgresStore, PostgresStore];
      await until("its lease ends", () => one.claimRun(lost));
      expect(performance.now() - killedAt).toBeLessThan(takeOverMs);
      expect(await other.claimRun(lost)).toBeUndefined();
      expect(await one.claimRun(kept)).toBeUndefined();
      await assertSound(one, [...killed.acknowledged, ...living.acknowledged]);
    } finally {
      for (const { ended, process } of [killed, living]) {
        process.kill("SIGKILL");
        await ended;
      }
      for (const store of stores) await store.close();
    }
  }, 60_000);
});
