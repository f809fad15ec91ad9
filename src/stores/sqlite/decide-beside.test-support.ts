/**
 * A process that changes three records at once, over and over, and says what was acknowledged:
 * `node decide-beside.test-support.ts PATH`, until it is killed.
 */
import { change } from "../../testing/stored-run.ts";
import { SqliteStore } from "./sqlite-store.ts";

const [path = ""] = process.argv.slice(2);
const store = new SqliteStore({ path, synchronous: "normal", artifacts: null });
for (;;) {
  const version = (await store.readRecord("policy", "a"))?.version ?? 0;
  const value = { number: version + 1, filling: "x".repeat(20_000) };
  const changes = ["a", "b", "c"].map((id) => change(id, version, value));
  await store.changeRecords(changes, "killed");
  process.stdout.write(`${version + 1}.\n`);
}
