import type { Clock } from "../../../ports/clock.ts";
import type { Runtime } from "../../../runtime.ts";
import { type Labels, type MetricFamily, Reading } from "./metrics-family.ts";

type Figures = readonly (readonly [Labels, number])[];

/**
 * Workers and queues, of the whole store: asked when somebody scrapes, and left out where they
 * cannot be known. A scrape that finds the database away still gives everything else.
 */
export class FleetMetrics {
  readonly families: readonly MetricFamily[];
  readonly #runtime: Pick<Runtime, "clock" | "queues" | "store">;
  #workers: Figures = [];
  #queues: Figures = [];

  constructor(runtime: Pick<Runtime, "clock" | "queues" | "store">) {
    this.#runtime = runtime;
    this.families = [
      new Reading(
        "mandate_workers",
        "Processes that share the store, by whether they live and whether they take queued work.",
        "gauge",
        () => this.#workers,
      ),
      new Reading(
        "mandate_queue_delegations",
        "Delegations in queues, by queue and state; a thousand stands for as many, or more.",
        "gauge",
        () => this.#queues,
      ),
    ];
  }

  async load(): Promise<void> {
    const { clock, queues, store } = this.#runtime;
    const [workers, overview] = await Promise.all([
      soon(clock, store.workers?.()),
      soon(clock, queues?.overview()),
    ]);
    const counts = new Map<string, number>();
    for (const { executor, isAlive } of workers ?? []) {
      const key = `${isAlive ? "alive" : "gone"} ${executor === null ? "no" : "yes"}`;
      counts.set(key, (counts.get(key) ?? 0) + 1);
    }
    const known = workers === undefined ? [] : ["alive yes", "alive no", "gone yes", "gone no"];
    this.#workers = known.map((key) => {
      const [state = "", takes = ""] = key.split(" ");
      return [{ state, takes_work: takes }, counts.get(key) ?? 0] as const;
    });
    this.#queues = (overview?.queues ?? []).flatMap(({ name, waiting, working }) => [
      [{ queue: name, state: "waiting" }, waiting] as const,
      [{ queue: name, state: "working" }, working] as const,
    ]);
  }
}

/** A scraper does not wait for a database that is away. */
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
