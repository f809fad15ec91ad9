/**
 * A process that writes to a database beside others, and says what was acknowledged:
 * `node write-beside.test-support.ts PATH APPENDS`, where more than it can ever do means until killed.
 */
import { note, StoredRun } from "../../testing/stored-run.ts";
import { SqliteStore } from "./sqlite-store.ts";

const [path = "", appends = "0"] = process.argv.slice(2);
const store = new SqliteStore({ path, synchronous: "normal", artifacts: null });
const run = await StoredRun.start(store);
const id = await run.child();
for (let number = 0; number < Number(appends); number++) {
  const events = await run.append(note(id, `${process.pid} ${number}`));
  const said = events.map(({ run_id, seq, hash }) => JSON.stringify({ run_id, seq, hash }));
  process.stdout.write(`${said.join("\n")}\n`);
  // As agents do: a moment of work between two steps.
  await new Promise((resolve) => setTimeout(resolve, 1));
}
await store.close();
