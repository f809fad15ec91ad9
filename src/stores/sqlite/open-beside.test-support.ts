/** A process that opens a database at a given time: `node open-beside.test-support.ts PATH TIME`. */
import { openDatabase } from "./open-database.ts";

const [path = "", at = "0"] = process.argv.slice(2);
// As precisely as others who wait for the same moment.
while (Date.now() < Number(at));
openDatabase({ path, synchronous: "normal" }).close();
