import { seesAllRuns } from "../../../control/records/principal.ts";
import type { Store } from "../../../ports/store.ts";
import type { Mount } from "../mount.ts";
import { HttpProblem } from "../problem.ts";
import type { EventHub } from "../streams/event-hub.ts";
import { EventCounts } from "./metrics-event-counts.ts";
import {
  Counter,
  Histogram,
  type Labels,
  type MetricFamily,
  type MetricsFormat,
  Reading,
} from "./metrics-family.ts";
import type { FleetMetrics } from "./metrics-fleet.ts";
import { processMetrics } from "./metrics-process.ts";

const requestSeconds = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

/**
 * Figures for Prometheus. Counters count what this process heard since it began, whoever did it;
 * what is open is of the whole store, and so are workers and queues.
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

  /** Counts one request of one route, by the route's id: never by its path. */
  countRequest(routeId: string, status: number, ms: number): void {
    this.#requests.add({ route: routeId, status: String(status) });
    this.#requestSeconds.observe({ route: routeId }, ms / 1000);
  }

  /** `/metrics`, in the format that the scraper prefers. */
  readonly mount: Mount = async (request, principal) => {
    if (!seesAllRuns(principal)) {
      throw new HttpProblem(
        "forbidden",
        "These figures are about the runs of all tokens, and this one sees its own. Take a viewer's.",
      );
    }
    const accepted = request.headers.get("accept") ?? "";
    const isOpen = /application\/openmetrics-text/i.test(accepted);
    const type = isOpen
      ? "application/openmetrics-text; version=1.0.0; charset=utf-8"
      : "text/plain; version=0.0.4; charset=utf-8";
    const headers = { "content-type": type, "cache-control": "no-store" };
    return new Response(await this.render(isOpen ? "openmetrics" : "text"), { headers });
  };

  async render(format: MetricsFormat): Promise<string> {
    // What was open before we began to listen: once, when somebody wants to know.
    this.#loading ??= this.#counts.load(this.#store);
    await Promise.all([this.#loading.catch(() => undefined), this.#fleet?.load()]);
    const lines: string[] = [];
    for (const family of this.#families) family.write(lines, format);
    if (format === "openmetrics") lines.push("# EOF");
    return `${lines.join("\n")}\n`;
  }

  close(): void {
    this.#stop();
  }
}

function streamMetrics({ events, inbox }: EventHub): readonly MetricFamily[] {
  return [
    new Reading("mandate_sse_clients", "Clients that follow a stream.", "gauge", () => [
      [{ stream: "events" }, events.size],
      [{ stream: "inbox" }, inbox.size],
    ]),
    new Reading("mandate_sse_dropped", "Clients that were too slow.", "counter", () => [
      ...droppedBy("events", events.dropped),
      ...droppedBy("inbox", inbox.dropped),
    ]),
  ];
}

function droppedBy(
  stream: string,
  dropped: Readonly<Record<string, number>>,
): (readonly [Labels, number])[] {
  return Object.entries(dropped).map(([reason, count]) => [{ stream, reason }, count] as const);
}
