import { startRetention } from "../../../application/retention.ts";
import { findPlaces } from "../../../control/places.ts";
import type { LogEntry } from "../../../ports/log.ts";
import { MandateError } from "../../../ports/mandate-error.ts";
import { productVersion } from "../../../product-version.ts";
import type { Runtime, RuntimeOptions } from "../../../runtime.ts";
import { type Arguments, type Command, text } from "../command.ts";
import { exitCode } from "../exit-code.ts";
import { type Io, untilStopped } from "../io.ts";
import {
  applicationFor,
  chosenPlaybook,
  openRuntime,
  operatingOf,
  operatingOptions,
  runtimeOptions,
} from "../open-runtime.ts";

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
    "drain-within": text("TIME", "how long running delegations may take after a stop signal (30s)"),
    ...operatingOptions,
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
  const operating = operatingOf(given, io);
  let count = (_entry: LogEntry): void => undefined;
  const log: typeof operating.log = (entry) => {
    count(entry);
    operating.log(entry);
  };
  const { startWorker } = await import("../../../start-worker.ts");
  const extra = { log, waitForDatabaseMs: operating.waitForDatabaseMs };
  const runtimes = await openAll(given, io, named, atOnce, extra);
  const [first] = runtimes;
  try {
    const worker = await startWorker({ runtimes, log, queues });
    const { WorkerMetrics } = await import("../../http/metrics/worker-metrics.ts");
    const { startHealthServer } = await import("../../http/health-server.ts");
    const metrics = new WorkerMetrics(runtimes, worker, productVersion);
    count = (entry) => metrics.countEntry(entry);
    const health =
      operating.health &&
      (await startHealthServer({
        ...operating.health,
        clock: first.clock,
        stores: runtimes.map(({ store }) => store),
        isStopping: () => worker.isDraining,
        metrics: (format) => metrics.render(format),
      }));
    const stopped = untilStopped(io);
    io.stdout.write(`This worker takes work from ${worker.names.join(", ")}.\n`);
    const self = first.store.ownership.worker;
    const healthAt = health === undefined ? "" : ` Probes and metrics are on port ${health.port}.`;
    const message = `This worker takes work from ${worker.names.join(", ")}, up to ${worker.atOnce} at a time.${healthAt}`;
    log({ level: "info", code: "worker_started", message, worker: self });
    const { home } = findPlaces(io.environment);
    const retentions = runtimes.map((runtime) => startRetention(runtime, home, log));
    await stopped;
    for (const retention of retentions) retention.stop();
    log({
      level: "info",
      code: "worker_stopping",
      message: "Stopping: no new work is claimed; running delegations get time to finish.",
      worker: self,
    });
    await worker.drain(graceMs);
    await health?.close();
    metrics.close();
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
  extra: Pick<RuntimeOptions, "log" | "waitForDatabaseMs">,
): Promise<readonly [Runtime, ...Runtime[]]> {
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
    // All tenants share the places of this worker.
    const scheduler = runtimes[0]?.engine.worker.places;
    const places = scheduler === undefined ? most : { scheduler };
    const runtime = await openRuntime(given, io, application, { flags, ...places, ...extra });
    runtimes.push(runtime);
    if (runtime.queues === null) throw new MandateError("usage", "A worker needs Postgres.");
  }
  const [first, ...others] = runtimes;
  if (first === undefined) throw new MandateError("usage", "A worker needs a tenant.");
  return [first, ...others];
}
