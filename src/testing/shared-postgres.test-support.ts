/** For vitest's `globalSetup`: one Postgres server for every test file that needs one. */
import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { shareAs } from "./shared-by-files.test-support.ts";

export function setup(): Promise<() => Promise<void>> {
  return shareAs("MANDATE_TEST_SHARED_POSTGRES", async () => {
    // Not in this process: what starts a server also decides how its process exits, and it is for
    // the tests to say that they failed.
    const program = fileURLToPath(new URL("serve-postgres.test-support.ts", import.meta.url));
    const server = fork(program, { stdio: ["ignore", "inherit", "inherit", "ipc"] });
    return { found: await urlOf(server), end: () => endServer(server) };
  });
}

async function urlOf(server: ChildProcess): Promise<string> {
  const failed = once(server, "exit").then(() => {
    throw new Error("The Postgres server for the tests did not start.");
  });
  const [url] = await Promise.race([once(server, "message"), failed]);
  failed.catch(() => undefined);
  return String(url);
}

async function endServer(server: ChildProcess): Promise<void> {
  if (server.exitCode !== null || server.signalCode !== null) return;
  const gone = once(server, "exit");
  server.disconnect();
  await gone;
}
