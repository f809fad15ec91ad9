import { monitorEventLoopDelay } from "node:perf_hooks";
import type { Clock } from "../../../ports/clock.ts";
import { type MetricFamily, Reading } from "./metrics-family.ts";

const resolutionMs = 20;

/** How this process is, and what it is. Gives what ends the watching as well. */
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
    new Reading("mandate_build_info", "What runs here; the value says nothing.", "gauge", () => [
      [{ version, node: process.version }, 1],
    ]),
    gauge("process_start_time_seconds", "When this process began, since 1970.", () => startedAt),
    gauge("process_resident_memory_bytes", "Memory that this process holds.", () =>
      process.memoryUsage.rss(),
    ),
    new Reading("process_cpu_seconds", "Processor time that was used.", "counter", () => {
      const { user, system } = process.cpuUsage();
      return [[{}, (user + system) / 1e6]];
    }),
    gauge(
      "nodejs_heap_size_used_bytes",
      "Memory of values that are in use.",
      () => process.memoryUsage().heapUsed,
    ),
    new Reading(
      "nodejs_eventloop_lag_seconds",
      "How late timers were since the last scrape.",
      "gauge",
      () => {
        // Before anything was measured there is nothing to be late.
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
