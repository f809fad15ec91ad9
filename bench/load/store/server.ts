/**
 * The process that serves the large home, and takes up what the one before it left: it tells how long
 * that took, and serves until it is killed: node server.ts '<folder>'.
 */
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { AccessTokens, installationToken } from "../../../src/control/access/access-tokens.ts";
import { serveRuntime } from "../../../src/surfaces/http/serve-runtime.ts";
import { findDashboard, staticFiles } from "../../../src/surfaces/http/static-files.ts";
import { openCrew } from "../open-crew.ts";

export interface LargeServer {
  readonly url: string;
  readonly token: string;
  /** Opens the page, once; undefined: no page is built. */
  readonly link: string | undefined;
  readonly openMs: number;
  readonly recoverMs: number;
  /** Runs that were taken up, and what was written for it. */
  readonly taken: number;
  readonly wrote: number;
  readonly rssMb: number;
}

const quietMs = 300;

async function serveHere(folder: string): Promise<void> {
  const began = performance.now();
  const runtime = await openCrew({ folder, synchronous: "normal", maxConcurrent: 2000 });
  const openMs = performance.now() - began;
  let wrote = 0;
  let wroteAt = performance.now();
  runtime.store.subscribe((events) => {
    wrote += events.length;
    wroteAt = performance.now();
  });
  const taken = (await runtime.engine.recover()).length;
  const returnedAt = performance.now();
  // Until all of them have said that they go on: then nothing more is written for a while.
  while (performance.now() - Math.max(wroteAt, returnedAt) < quietMs) await delay(10);
  const recoverMs = Math.max(wroteAt, returnedAt) - began - openMs;
  const file = join(folder, "home/tokens/local");
  const token = installationToken(file);
  const page = findDashboard();
  const server = await serveRuntime({
    host: {
      runtime,
      tokens: new AccessTokens(runtime.store, file),
      workspaces: [join(folder, "workspace")],
      startedAt: Date.now(),
    },
    port: 0,
    ...(page && { staticFiles: staticFiles(page) }),
  });
  const about: LargeServer = {
    ...{ url: server.url, token, openMs, recoverMs, taken, wrote },
    link: page && `${server.url}/system#code=${server.pages.createCode(token).code}`,
    rssMb: process.memoryUsage.rss() / 1024 / 1024,
  };
  process.send?.(about);
  process.once("disconnect", () => process.exit(1));
}

await serveHere(process.argv[2] ?? "");
