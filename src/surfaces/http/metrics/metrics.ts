import { monitorEventLoopDelay } from "node:perf_hooks";
import { seesAllRuns } from "../../../control/records/principal.ts";
import type { Clock } from "../../../ports/clock.ts";
import type { Store } from "../../../ports/store.ts";
import type { Runtime } from "../../../runtime.ts";
import type { Mount } from "../mount.ts";
import { HttpProblem } from "../problem.ts";
import type { EventHub } from "../streams/event-hub.ts";
import { EventCounts } from "./event-counts.ts";
import {
  Counter,
  Histogram,
  type Labels,
  type MetricFamily,
  type MetricsFormat,
  Reading,
} from "./families.ts";

const requestSeconds = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

/**
 * Metrics for Prometheus. Counters count the events that this process has received since it
 * started, from all processes. Gauges of open work, workers and queues describe the whole store.
 */
export class Metrics {
  readonly #store: Pick<Store, "listRuns" | "readRun">;
  readonly #counts = new EventCounts();
  readonly #requests = new Counter("mandate_http_requests", "Requests, by route and status.");
  readonly #requestSeconds = new Histogram(
    "mandate_http_request_duration_seconds",
    "How long requests took, by route.",
    requestSeconds,
  );
  readonly #fleet: FleetMetrics | undefined;
  readonly #families: readonly MetricFamily[];
  readonly #stop: () => void;
  #loading: Promise<void> | undefined;

  constructor(
    hub: EventHub,
    store: Pick<Store, "listRuns" | "readRun">,
    version: string,
    fleet?: FleetMetrics,
  ) {
    this.#store = store;
    this.#fleet = fleet;
    const { families, stop } = processMetrics(version, hub.clock);
    this.#families = [
      ...this.#counts.families,
      ...streamMetrics(hub),
      this.#requests,
      this.#requestSeconds,
      ...families,
      ...(fleet?.families ?? []),
    ];
    const unlisten = hub.listen((events) => {
      for (const event of events) this.#counts.count(event);
    });
    this.#stop = () => {
      unlisten();
      stop();
    };
  }

  /** Counts one request by the id of its route, never by its path. */
  countRequest(routeId: string, status: number, ms: number): void {
    this.#requests.add({ route: routeId, status: String(status) });
    this.#requestSeconds.observe({ route: routeId }, ms / 1000);
  }

  /** Serves `/metrics`, in the format that the scraper accepts. */
  readonly mount: Mount = async (request, principal) => {
    if (!seesAllRuns(principal)) {
      throw new HttpProblem(
        "forbidden",
        "Metrics cover the runs of all tokens, and this token sees only its own. Use a viewer's token.",
      );
    }
    const { format, type } = formatFor(request.headers.get("accept") ?? "");
    const headers = { "content-type": type, "cache-control": "no-store" };
    return new Response(await this.render(format), { headers });
  };

  async render(format: MetricsFormat): Promise<string> {
    // What was open before the first event is read once, at the first scrape.
    this.#loading ??= this.#counts.load(this.#store);
    await Promise.all([this.#loading.catch(() => undefined), this.#fleet?.load()]);
    return renderFamilies(this.#families, format);
  }

  close(): void {
    this.#stop();
  }
}

function streamMetrics({ events, inbox }: EventHub): readonly MetricFamily[] {
  return [
    new Reading("mandate_sse_clients", "Clients of streams.", "gauge", () => [
      [{ stream: "events" }, events.size],
      [{ stream: "inbox" }, inbox.size],
    ]),
    new Reading(
      "mandate_sse_dropped",
      "Clients that were dropped because they read too slowly.",
      "counter",
      () => [...droppedBy("events", events.dropped), ...droppedBy("inbox", inbox.dropped)],
    ),
  ];
}

function droppedBy(
  stream: string,
  dropped: Readonly<Record<string, number>>,
): (readonly [Labels, number])[] {
  return Object.entries(dropped).map(([reason, count]) => [{ stream, reason }, count] as const);
}

type Figures = readonly (readonly [Labels, number])[];

/**
 * Workers and queues of the whole store, read at each scrape. When the database does not answer, a
 * scrape still gives all other metrics.
 */
export class FleetMetrics {
  readonly families: readonly MetricFamily[];
  readonly #runtimes: readonly FleetSource[];
  #workers: Figures = [];
  #queues: Figures = [];
  #open: Figures = [];

  /** Several runtimes, of several tenants, are added up. */
  constructor(...runtimes: readonly FleetSource[]) {
    this.#runtimes = runtimes;
    this.families = [
      new Reading(
        "mandate_workers",
        "Processes that share the store, by state and by whether they take queued work.",
        "gauge",
        () => this.#workers,
      ),
      new Reading(
        "mandate_queue_delegations",
        "Delegations in queues, by queue and state.",
        "gauge",
        () => this.#queues,
      ),
      new Reading(
        "mandate_queue_open_delegations",
        "Delegations in queues that need a place, waiting or at work: what autoscalers divide among workers.",
        "gauge",
        () => this.#open,
      ),
    ];
  }

  async load(): Promise<void> {
    const found = await Promise.all(
      this.#runtimes.map(async ({ clock, queues, store }) => ({
        workers: await soon(clock, store.workers?.()),
        overview: await soon(clock, queues?.overview()),
      })),
    );
    const workers = new Map<string, number>();
    const queues = new Map<string, { suspended: number; waiting: number; working: number }>();
    const add = (counts: Map<string, number>, key: string, count: number): void =>
      void counts.set(key, (counts.get(key) ?? 0) + count);
    for (const { overview, workers: rows } of found) {
      for (const key of rows === undefined ? [] : workerStates) add(workers, key, 0);
      for (const { executor, isAlive } of rows ?? []) {
        add(workers, `${isAlive ? "alive" : "gone"} ${executor === null ? "no" : "yes"}`, 1);
      }
      for (const { name, suspended, waiting, working } of overview?.queues ?? []) {
        const sum = queues.get(name) ?? { suspended: 0, waiting: 0, working: 0 };
        sum.suspended += suspended;
        sum.waiting += waiting;
        sum.working += working;
        queues.set(name, sum);
      }
    }
    this.#workers = [...workers].map(([key, count]) => {
      const [state = "", takes = ""] = key.split(" ");
      return [{ state, takes_work: takes }, count] as const;
    });
    this.#queues = [...queues].flatMap(([queue, { suspended, waiting, working }]) => [
      [{ queue, state: "suspended" }, suspended] as const,
      [{ queue, state: "waiting" }, waiting] as const,
      [{ queue, state: "working" }, working] as const,
    ]);
    this.#open = [...queues].map(
      ([queue, { waiting, working }]) => [{ queue }, waiting + working] as const,
    );
  }
}

type FleetSource = Pick<Runtime, "clock" | "queues" | "store">;

const workerStates = ["alive yes", "alive no", "gone yes", "gone no"];

/** The format that a scraper accepts, and its media type. */
export function formatFor(accepted: string): {
  readonly format: MetricsFormat;
  readonly type: string;
} {
  return /application\/openmetrics-text/i.test(accepted)
    ? { format: "openmetrics", type: "application/openmetrics-text; version=1.0.0; charset=utf-8" }
    : { format: "text", type: "text/plain; version=0.0.4; charset=utf-8" };
}

export function renderFamilies(families: readonly MetricFamily[], format: MetricsFormat): string {
  const lines: string[] = [];
  for (const family of families) family.write(lines, format);
  if (format === "openmetrics") lines.push("# EOF");
  return `${lines.join("\n")}\n`;
}

/** How long a scrape waits for the database. */
const patienceMs = 2000;

async function soon<Value>(
  clock: Clock,
  value: Promise<Value> | undefined,
): Promise<Value | undefined> {
  const { promise: late, resolve: giveUp } = Promise.withResolvers<undefined>();
  const timer = clock.after(patienceMs, () => giveUp(undefined)).unref();
  try {
    return await Promise.race([value, late]);
  } catch {
    return undefined;
  } finally {
    timer.cancel();
  }
}

const resolutionMs = 20;

/** Metrics of this process. `stop` ends the measurement of the event loop. */
export function processMetrics(
  version: string,
  clock: Clock,
): {
  readonly families: readonly MetricFamily[];
  stop(): void;
} {
  const delay = monitorEventLoopDelay({ resolution: resolutionMs });
  delay.enable();
  const startedAt = clock.now() / 1000 - process.uptime();
  const gauge = (name: string, help: string, read: () => number): Reading =>
    new Reading(name, help, "gauge", () => [[{}, read()]]);
  const families = [
    new Reading(
      "mandate_build_info",
      "Versions of this process; the value is always 1.",
      "gauge",
      () => [[{ version, node: process.version }, 1]],
    ),
    gauge(
      "process_start_time_seconds",
      "Start time of this process, in seconds since 1970.",
      () => startedAt,
    ),
    gauge("process_resident_memory_bytes", "Resident memory of this process.", () =>
      process.memoryUsage.rss(),
    ),
    new Reading("process_cpu_seconds", "Processor time of this process.", "counter", () => {
      const { user, system } = process.cpuUsage();
      return [[{}, (user + system) / 1e6]];
    }),
    gauge(
      "nodejs_heap_size_used_bytes",
      "Used heap of JavaScript values.",
      () => process.memoryUsage().heapUsed,
    ),
    new Reading(
      "nodejs_eventloop_lag_seconds",
      "Delay of timers since the last scrape.",
      "gauge",
      () => {
        // Without samples the percentiles are not numbers.
        const seconds = (nanoseconds: number): number =>
          delay.count === 0 ? 0 : Math.max(0, nanoseconds / 1e9 - resolutionMs / 1000);
        const values = [
          [{ quantile: "0.5" }, seconds(delay.percentile(50))],
          [{ quantile: "0.99" }, seconds(delay.percentile(99))],
          [{ quantile: "1" }, seconds(delay.max)],
        ] as const;
        delay.reset();
        return values;
      },
    ),
  ];
  return { families, stop: () => delay.disable() };
}
