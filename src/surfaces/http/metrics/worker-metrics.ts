import type { LogEntry } from "../../../ports/log.ts";
import type { Runtime } from "../../../runtime.ts";
import type { RunningWorker } from "../../../start-worker.ts";
import { Counter, type MetricFamily, type MetricsFormat, Reading } from "./families.ts";
import { FleetMetrics, processMetrics, renderFamilies } from "./metrics.ts";

/**
 * Metrics of a worker: its places and what it reported, and the workers and queues of its tenants.
 * What delegations do is counted by servers, each from the log of all.
 */
export class WorkerMetrics {
  readonly #fleet: FleetMetrics;
  readonly #entries = new Counter("mandate_log_entries", "Lines of this worker's log, by code.");
  readonly #families: readonly MetricFamily[];
  readonly #stop: () => void;

  constructor(
    runtimes: readonly [Runtime, ...Runtime[]],
    worker: Pick<RunningWorker, "atOnce" | "isDraining" | "running">,
    version: string,
  ) {
    const [{ clock }] = runtimes;
    this.#fleet = new FleetMetrics(...runtimes);
    const { families, stop } = processMetrics(version, clock);
    this.#stop = stop;
    const gauge = (name: string, help: string, read: () => number): Reading =>
      new Reading(name, help, "gauge", () => [[{}, read()]]);
    this.#families = [
      gauge(
        "mandate_worker_delegations",
        "Delegations that this worker works on.",
        () => worker.running,
      ),
      gauge("mandate_worker_places", "Most delegations at a time.", () => worker.atOnce),
      gauge("mandate_worker_draining", "1: it takes no more work.", () =>
        worker.isDraining ? 1 : 0,
      ),
      this.#entries,
      ...families,
      ...this.#fleet.families,
    ];
  }

  countEntry({ code, level }: LogEntry): void {
    this.#entries.add({ code, level });
  }

  async render(format: MetricsFormat): Promise<string> {
    await this.#fleet.load();
    return renderFamilies(this.#families, format);
  }

  close(): void {
    this.#stop();
  }
}
