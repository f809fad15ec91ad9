/**
 * A process that writes to a database beside others, and says what was acknowledged:
 * `node write-beside.test-support.ts URL APPENDS [LEASE]`, where more appends than it can ever do
 * means until killed. It says "fenced" and ends when it is told that its run is not its own.
 */
import { MandateError } from "../../ports/mandate-error.ts";
import { note, StoredRun } from "../../testing/stored-run.ts";
import { PostgresStore } from "./postgres-store.ts";

const [url = "", appends = "0", leaseMs = "1000"] = process.argv.slice(2);
const store = await PostgresStore.open({ url, leaseMs: Number(leaseMs) });
const run = await StoredRun.start(store);
const id = await run.child();
try {
  for (let number = 0; number < Number(appends); number++) {
    const events = await run.append(note(id, `${process.pid} ${number}`));
    const said = events.map(({ run_id, seq, hash }) => JSON.stringify({ run_id, seq, hash }));
    process.stdout.write(`${said.join("\n")}\n`);
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
} catch (error) {
  if (!(error instanceof MandateError && error.code === "fenced")) throw error;
  process.stdout.write("fenced\n");
}
await store.close();
