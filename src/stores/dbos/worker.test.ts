import { expect, it } from "vitest";
import { checkStore } from "../../events/checker/check-store.ts";
import { dropDatabase, freshDatabase } from "../../testing/postgres.test-support.ts";
import { PostgresStore } from "../postgres/postgres-store.ts";
import { openDesk } from "./beside.test-support.ts";

it("works on runs of another process, each in a process of its own", async () => {
  const url = await freshDatabase();
  try {
    using desk = openDesk(url);
    const worker = desk.mandate("worker");
    await worker.printed("takes work");
    const client = desk.mandate("run", "--trust-folder", "--quiet", "Count the boats");
    expect(await client.ended, client.said.err).toBe(0);
    expect(client.said.out).toContain("Count the boats");
    worker.process.kill("SIGTERM");
    expect(await worker.ended).toBe(0);
    const store = await PostgresStore.open({ url });
    expect((await checkStore(store)).violations).toEqual([]);
    await store.close();
  } finally {
    await dropDatabase(url);
  }
});
