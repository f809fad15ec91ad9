/** A Postgres server as a process of its own: says where it is, and ends with whoever started it. */
import { startServer } from "./postgres.test-support.ts";

const { end, url } = await startServer();
process.send?.(url);
process.once("disconnect", () => void end().finally(() => process.exit()));
