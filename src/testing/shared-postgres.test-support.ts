/** For vitest's `globalSetup`: one Postgres server for every test file that needs one. */
import { shareAs } from "./shared-by-files.test-support.ts";

export function setup(): Promise<() => Promise<void>> {
  return shareAs("MANDATE_TEST_SHARED_POSTGRES", async () => {
    // Most test runs need none: they do not even load what starts one.
    const { startServer } = await import("./postgres.test-support.ts");
    const { end, url } = await startServer();
    return { found: url, end };
  });
}
