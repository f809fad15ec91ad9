/**
 * A process that prunes beside others, one run after the other, and says which:
 * `node prune-beside.test-support.ts PATH-OR-URL ARTIFACTS`.
 */
import { PostgresStore } from "./postgres/postgres-store.ts";
import { SqliteStore } from "./sqlite/sqlite-store.ts";

const [place = "", artifacts = ""] = process.argv.slice(2);
const store = place.startsWith("postgres:")
  ? await PostgresStore.open({ url: place, leaseMs: 1000 })
  : new SqliteStore({ path: place, synchronous: "normal", artifacts });
const soon = Date.now() + 1_000_000;
process.stdout.write("begins\n");
for (;;) {
  const { runs } = await store.prune({
    ...{ finishedBefore: soon, bodiesBefore: soon, actor: "beside", most: 1 },
  });
  if (runs.length === 0) break;
  process.stdout.write(`${runs.map(({ runId }) => runId).join("\n")}\n`);
}
await store.close();
