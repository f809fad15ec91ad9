import { setImmediate as nextTurn } from "node:timers/promises";
import type { Tracer } from "@opentelemetry/api";
import type { StoredEvent } from "../../events/event.ts";
import type { Store } from "../../ports/store.ts";
import { RunTrace, type TraceOptions } from "./run-trace.ts";

type TracedStore = Pick<Store, "subscribe" | "readEvents" | "ownership">;

/** A run that is being recovered: new events wait until its earlier events are read. */
interface TakingUp {
  readonly waiting: StoredEvent[];
}

/**
 * Makes spans for the runs that this process executes; other processes on the store do the same. A
 * run that another process began continues with its open spans. Returns a function that stops; open
 * spans are left to the process that recovers the run.
 */
export function traceRuns(
  store: TracedStore,
  tracer: Tracer,
  options: TraceOptions = {},
): () => void {
  const traces = new Map<string, RunTrace | TakingUp>();

  function hear(event: StoredEvent): void {
    // A process that was declared dead continues under another worker name.
    const { worker } = store.ownership;
    if (event.type === "run.started" && event.payload.worker === worker) {
      traces.set(event.run_id, new RunTrace(tracer, options, false));
    }
    const known = traces.get(event.run_id);
    if (event.type === "run.resumed") {
      if (event.payload.worker !== worker) traces.delete(event.run_id);
      else if (known === undefined) void continueTrace(event);
      return;
    }
    if (known instanceof RunTrace) known.hear(event);
    else known?.waiting.push(event);
    if (event.type === "run.finished" && known instanceof RunTrace) traces.delete(event.run_id);
  }

  async function continueTrace({ run_id: runId, seq }: StoredEvent): Promise<void> {
    const takingUp: TakingUp = { waiting: [] };
    traces.set(runId, takingUp);
    const trace = new RunTrace(tracer, options, true);
    try {
      let read = 0;
      for await (const event of store.readEvents({ runId })) {
        if (event.seq > seq) break;
        trace.hear(event);
        if (++read % 500 === 0) await nextTurn();
      }
    } catch {
      // The store was closed, so there are no more events.
      traces.delete(runId);
    }
    if (traces.get(runId) !== takingUp) return;
    trace.continueTrace();
    traces.set(runId, trace);
    for (const event of takingUp.waiting) hear(event);
  }

  return store.subscribe((events) => {
    for (const event of events) hear(event);
  });
}
