import { hostname } from "node:os";
import { z } from "zod";
import type { Store } from "../../../ports/store.ts";
import type { WorkerRow } from "../../../ports/workers.ts";
import { defineRoute, type Route } from "../route.ts";
import { listOf, moment } from "./shared-schemas.ts";

const worker = z.object({
  worker: z.string(),
  isSelf: z.boolean().meta({ description: "The process that answers." }),
  isAlive: z.boolean().meta({ description: "False: what it worked on is taken up by others." }),
  takesWork: z.boolean().meta({ description: "It takes delegations out of queues." }),
  host: z.string().nullable(),
  pid: z.number().nullable(),
  startedAt: moment.nullable(),
  goneSince: moment.nullable().meta({ description: "Null: it lives, or nobody knows since when." }),
  delegations: z.number().nullable().meta({ description: "Taken out of queues, and not done." }),
  openRuns: z.number().meta({ description: "Those that are its own alone." }),
});

export const workerList = z.object({
  engine: z.enum(["local", "dbos"]).meta({
    description: "local: whoever starts a run works on it. dbos: it waits in a queue for a worker.",
  }),
  items: listOf(worker),
  isComplete: z.boolean().meta({ description: "False: there are more than are shown or counted." }),
});

const most = z.number().nullable();

const queue = z.object({
  name: z.string(),
  waiting: z.number(),
  working: z.number(),
  waitingSince: moment.nullable().meta({ description: "Of the one that waits longest." }),
  limits: z
    .object({ all: most, worker: most, tenant: most })
    .meta({ description: "At work at the same time, at each depth of a tree; null: no limit." }),
});

export const queueList = z.object({
  items: listOf(queue).meta({ description: "None where whoever starts a run works on it." }),
  isComplete: z.boolean().meta({ description: "False: there are more than were counted." }),
});

const tag = "system";
/** Runs that are looked at, and workers that are shown. */
const mostRuns = 1000;
const mostWorkers = 500;

export const workerRoutes: readonly Route[] = [
  defineRoute({
    id: "listWorkers",
    method: "GET",
    path: "/workers",
    summary: "Lists the processes that share this store: who lives, and what each has to do.",
    tag,
    role: "viewer",
    cost: 5,
    reply: workerList,
    async handle(_request, { runtime: { config, queues, store } }) {
      const [runs, overview] = await Promise.all([
        store.listRuns({ open: true, limit: mostRuns }),
        queues?.overview(),
      ]);
      const owned = new Map<string, number>();
      for (const { worker } of runs) owned.set(worker, (owned.get(worker) ?? 0) + 1);
      const self = store.ownership.worker;
      const rows = (await store.workers?.()) ?? (await knownByRuns(store, owned.keys()));
      const items = rows.map(({ aliveUntil, executor, id, ...row }) => ({
        worker: id,
        isSelf: id === self,
        isAlive: row.isAlive || id === self,
        takesWork: executor !== null,
        host: row.host,
        pid: row.pid,
        startedAt: row.startedAt,
        goneSince: row.isAlive ? null : aliveUntil,
        delegations: executor === null ? null : (overview?.taken.get(executor) ?? 0),
        openRuns: owned.get(id) ?? 0,
      }));
      // Those who live are what matters where not all can be shown; the longest there come first.
      const shown = items.toSorted((one, other) => Number(other.isAlive) - Number(one.isAlive));
      const isAll = items.length <= mostWorkers && runs.length < mostRuns;
      return {
        engine: queues === null ? ("local" as const) : config.engine.kind,
        items: shown.slice(0, mostWorkers),
        isComplete: isAll && overview?.isComplete !== false,
      };
    },
  }),
  defineRoute({
    id: "listQueues",
    method: "GET",
    path: "/queues",
    summary: "Says how many delegations wait in each queue, how many are at work, and the limits.",
    tag,
    role: "viewer",
    cost: 5,
    reply: queueList,
    async handle(_request, { runtime: { queues } }) {
      if (queues === null) return { items: [], isComplete: true };
      const { isComplete, queues: items } = await queues.overview();
      return { items, isComplete };
    },
  }),
];

type KnownWorker = Omit<WorkerRow, "host" | "pid" | "startedAt"> &
  Pick<z.infer<typeof workerList>["items"][number], "host" | "pid" | "startedAt">;

/** Where the store keeps no list: this process, and those whose runs are open. */
async function knownByRuns(
  store: Store,
  owners: Iterable<string>,
): Promise<readonly KnownWorker[]> {
  const self = store.ownership.worker;
  const unknown = { executor: null, aliveUntil: null, host: null, pid: null, startedAt: null };
  const here = { host: hostname(), pid: process.pid, isAlive: true };
  const others = [...owners].filter((id) => id !== self);
  return [
    { ...unknown, ...here, id: self },
    ...(await Promise.all(
      others.map(async (id) => ({ ...unknown, id, isAlive: await store.isWorkerAlive(id) })),
    )),
  ];
}
