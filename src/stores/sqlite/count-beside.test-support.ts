/**
 * A process that adds to a number in a record beside others:
 * `node count-beside.test-support.ts PATH TIMES`.
 */
import { addOne } from "../../testing/stored-run.ts";
import { SqliteStore } from "./sqlite-store.ts";

const [path = "", times = "0"] = process.argv.slice(2);
const store = new SqliteStore({ path, synchronous: "normal", artifacts: null });
let conflicts = 0;
for (let time = 0; time < Number(times); time++) {
  conflicts += await addOne(store, "sum", `process ${process.pid}`);
}
process.stdout.write(`${conflicts}\n`);
await store.close();
