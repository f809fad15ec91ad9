import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { appendFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { verifyHome } from "../../../src/application/verify-home.ts";
import { openStore } from "../../../src/open-store.ts";
import { openFolder } from "../open-folder.ts";
import { type Sample, sampleNames } from "./sample.ts";
import type { Listening } from "./server.ts";
import { judge, type Line } from "./verdict.ts";
import { type Visits, visit } from "./visitors.ts";

export interface SoakOptions {
  readonly ms: number;
  readonly everyMs: number;
  /** Between two runs that are started; the others come in proportion. */
  readonly paceMs: number;
  /** Where samples go as they are taken. */
  readonly csv: string | undefined;
  readonly print: (line: string) => void;
}

export interface Soaked {
  readonly samples: readonly Sample[];
  readonly lines: readonly Line[];
  readonly visits: Visits;
  readonly verified: { readonly events: number; readonly violations: number };
}

/** A server under a steady and mixed load, watched for as long as it takes to see what grows. */
export async function soak(options: SoakOptions): Promise<Soaked> {
  const folder = openFolder("soak");
  const home = join(folder, "home");
  const samples: Sample[] = [];
  const server = await startServer(home, options.everyMs);
  if (options.csv !== undefined) writeFileSync(options.csv, `${sampleNames.join(",")}\n`);
  server.child.on("message", (message: { sample?: Sample }) => {
    const { sample } = message;
    if (sample === undefined) return;
    samples.push(sample);
    const values = sampleNames.map((name) => Number(sample[name].toFixed(2)));
    if (options.csv !== undefined) appendFileSync(options.csv, `${values.join(",")}\n`);
  });
  options.print(`soaking for ${options.ms / 60_000} minutes; the server is ${server.child.pid}`);
  try {
    const visits = await visit(server.listening, AbortSignal.timeout(options.ms), options.paceMs);
    const ended = once(server.child, "exit");
    server.child.send("stop");
    await ended;
    const store = await openStore({ environment: { MANDATE_HOME: home, HOME: home } });
    const places = { home, database: join(home, "mandate.db") };
    const { events, violations } = await verifyHome(store, { places });
    await store.close();
    for (const { invariant, message } of violations) options.print(`${invariant}: ${message}`);
    const verified = { events, violations: violations.length };
    return { samples, lines: judge(samples), visits, verified };
  } finally {
    server.child.kill("SIGKILL");
    rmSync(folder, { recursive: true, force: true });
  }
}

interface Server {
  readonly child: ChildProcess;
  readonly listening: Listening;
}

async function startServer(home: string, everyMs: number): Promise<Server> {
  const file = join(import.meta.dirname, "server.ts");
  const child = fork(file, [home, String(everyMs)], {
    // A snapshot of its heap can be had with a signal: two of them say what grows.
    execArgv: ["--expose-gc", "--heapsnapshot-signal=SIGUSR2"],
    cwd: join(home, ".."),
  });
  const gone = once(child, "exit").then(([code]) => {
    throw new Error(`The server ended with ${code} before it served.`);
  });
  const [message] = await Promise.race([once(child, "message"), gone]);
  // From here on it ends when it is told to.
  gone.catch(() => undefined);
  return { child, listening: (message as { listening: Listening }).listening };
}
