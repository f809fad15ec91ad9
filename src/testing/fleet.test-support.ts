import type { DispatchedWork, Dispatcher } from "../ports/workers.ts";
import { type EngineOptions, openEngine, type TestEngine } from "./engine-fixture.ts";

/** A client that starts runs, and workers that share its store and do all of the work. */
export interface Fleet extends AsyncDisposable {
  readonly client: TestEngine;
  readonly workers: TestEngine[];
  /** Which worker was given which delegation, in order. */
  readonly given: { readonly worker: number; readonly delegationId: string }[];
  /** The worker dies; what it worked on is given to the others. */
  kill(worker: number): void;
}

export interface FleetOptions extends EngineOptions {
  /** So many of the first workers are on the client's machine; each of the others has its own. */
  readonly atHome?: number;
  /** Which worker is asked first; absent: the next one. */
  readonly choose?: (work: DispatchedWork) => number | undefined;
}

/** So often is somebody else asked, before it is taken by one who cannot do it. */
const patience = 20;

/** Gives each delegation to the next worker, one after the other, so that none works near another. */
export async function openFleet(
  count: number,
  { atHome = count, choose, ...options }: FleetOptions,
): Promise<Fleet> {
  const workers: TestEngine[] = [];
  const dead = new Set<number>();
  const under = new Map<string, { worker: number; work: DispatchedWork }>();
  const given: Fleet["given"] = [];
  let next = 0;
  const give = async (work: DispatchedWork): Promise<void> => {
    for (let unfit = 0; workers.length > 0; ) {
      const wanted = unfit === 0 ? choose?.(work) : undefined;
      const isThere = wanted !== undefined && !dead.has(wanted);
      const worker = isThere ? wanted : next++ % workers.length;
      if (dead.has(worker)) continue;
      given.push({ worker, delegationId: work.delegationId });
      under.set(work.delegationId, { worker, work });
      const outcome = await workers[worker]?.engine.worker
        .workOn(work, { isLastResort: unfit >= patience })
        .catch(() => "lost" as const);
      if (outcome === "lost" || dead.has(worker)) return;
      under.delete(work.delegationId);
      if (outcome === "done") return;
      if (outcome === "unfit") unfit++;
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
  };
  const dispatcher: Dispatcher = {
    async dispatch(work) {
      // As in a queue: what is in it already stays as it is.
      if (!under.has(work.delegationId)) void give(work);
    },
  };
  const client = await openEngine({ ...options, dispatcher });
  for (let index = 0; index < count; index++) {
    const on = index < atHome ? undefined : "own-machine";
    workers.push(await client.another({ ...options, dispatcher }, on));
  }
  return {
    client,
    workers,
    given,
    kill(worker) {
      dead.add(worker);
      workers[worker]?.abandon();
      for (const lost of under.values()) if (lost.worker === worker) void give(lost.work);
    },
    async [Symbol.asyncDispose]() {
      await client[Symbol.asyncDispose]();
    },
  };
}
