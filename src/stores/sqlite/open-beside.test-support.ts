/**
 * A process that opens a database as soon as a file is there, as others do in the same moment:
 * `node open-beside.test-support.ts PATH FILE`.
 */
import { existsSync } from "node:fs";
import { openDatabase } from "./open-database.ts";

const [path = "", start = ""] = process.argv.slice(2);
process.stdout.write("ready\n");
while (!existsSync(start));
openDatabase({ path, synchronous: "normal" }).close();
