import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { startRetention } from "../../../application/retention.ts";
import { findPlaces } from "../../../control/places.ts";
import { MandateError } from "../../../ports/mandate-error.ts";
import type { Runtime } from "../../../runtime.ts";
import type { RunningWorker } from "../../../start-worker.ts";
import { type Arguments, type Command, text } from "../command.ts";
import { exitCode } from "../exit-code.ts";
import { type Io, untilStopped } from "../io.ts";
import { applicationFor, chosenPlaybook, openRuntime, runtimeOptions } from "../open-runtime.ts";
import { printable } from "../printable.ts";

const usualGraceMs = 30_000;

export const workerCommand: Command = {
  name: "worker",
  usage: "[options]",
  about:
    "Works on delegations that others start: claims them from the queues of a shared Postgres, up to\n" +
    "--concurrency at a time, until it is stopped. Any number of workers can run, on any number of\n" +
    "machines; when one dies, the others recover its delegations. Ctrl-C or SIGTERM drains it: it\n" +
    "claims nothing more and finishes what it has; a second signal ends it at once.",
  options: {
    queues: text("NAMES", "queues to work on, separated by commas (all)"),
    tenant: text("NAME", "work for this tenant; repeatable (the configured one)"),
    concurrency: text("NUMBER", "how many delegations at a time (agents.delegation.maxConcurrent)"),
    health: text("PORT", "port for GET /health, on loopback (none)"),
    "drain-within": text("TIME", "how long running delegations may take after a stop signal (30s)"),
    ...runtimeOptions,
  },
  examples: ["worker", "worker --queues default,gpu --concurrency 20 --health 4849"],
  run: work,
};

async function work(given: Arguments, io: Io): Promise<number> {
  const atOnce = given.count("concurrency");
  const graceMs = given.duration("drain-within") ?? usualGraceMs;
  const queues = given
    .text("queues")
    ?.split(",")
    .filter((name) => name !== "");
  const named = given.texts("tenant");
  const log = (said: string): void =>
    io.stderr.write(`${printable(said).replaceAll("\n", "\n  ")}\n`);
  const { startWorker } = await import("../../../start-worker.ts");
  const runtimes = await openAll(given, io, named, atOnce);
  try {
    const worker = await startWorker({ runtimes, log, atOnce, queues });
    const health = await serveHealth(given.count("health"), worker);
    const stopped = untilStopped(io);
    io.stdout.write(`This worker takes work from ${worker.names.join(", ")}.\n`);
    const { home } = findPlaces(io.environment);
    const retentions = runtimes.map((runtime) => startRetention(runtime, home, log));
    await stopped;
    for (const retention of retentions) retention.stop();
    io.stderr.write("Stopping: no new work is claimed; running delegations get time to finish.\n");
    await worker.drain(graceMs);
    await health?.close();
    return exitCode.done;
  } finally {
    await Promise.all(runtimes.map((runtime) => runtime.close()));
  }
}

async function openAll(
  given: Arguments,
  io: Io,
  named: readonly string[],
  atOnce: number | undefined,
): Promise<readonly Runtime[]> {
  const application = applicationFor(chosenPlaybook(given, io));
  const most = atOnce === undefined ? {} : { maxConcurrent: atOnce };
  const model = given.text("model");
  const tenants = named.length === 0 ? [undefined] : named;
  const runtimes: Runtime[] = [];
  for (const tenant of tenants) {
    const flags = {
      engine: "dbos",
      ...(model !== undefined && { model }),
      ...(tenant !== undefined && { tenant }),
    };
    const runtime = await openRuntime(given, io, application, { flags, ...most });
    runtimes.push(runtime);
    if (runtime.queues === null) throw new MandateError("usage", "A worker needs Postgres.");
  }
  return runtimes;
}

export interface HealthServer {
  readonly port: number;
  close(): Promise<void>;
}

/** Health for an orchestrator of workers: whether this worker lives, and what it does. */
export async function serveHealth(
  port: number | undefined,
  worker: Pick<RunningWorker, "isDraining" | "names" | "running">,
): Promise<HealthServer | undefined> {
  if (port === undefined) return undefined;
  const server = createServer((request, response) => {
    const isKnown = request.method === "GET" && request.url === "/health";
    const status = worker.isDraining ? "draining" : "working";
    // 503 while draining: no new work, and no restart.
    response.writeHead(isKnown ? (worker.isDraining ? 503 : 200) : 404, {
      "content-type": "application/json",
    });
    const { names, running } = worker;
    response.end(isKnown ? JSON.stringify({ status, running, queues: names }) : "{}");
  });
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(port, "127.0.0.1", resolve);
  });
  return {
    port: (server.address() as AddressInfo).port,
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
