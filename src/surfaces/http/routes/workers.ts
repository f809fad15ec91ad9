import { hostname } from "node:os";
import { z } from "zod";
import type { ControlPlane } from "../../../control/records/control-plane.ts";
import type { Store } from "../../../ports/store.ts";
import type { WorkerRow } from "../../../ports/workers.ts";
import { defineRoute } from "../route.ts";
import { listOf, moment } from "./shared-schemas.ts";

const worker = z.object({
  worker: z.string(),
  isSelf: z.boolean().meta({ description: "True for the process that answers." }),
  isAlive: z.boolean().meta({ description: "False: other processes recover its work." }),
  executor: z.string().nullable().meta({
    description: "Its name as a queue worker, which `worker/NAME` of a stop names; null: none.",
  }),
  version: z.string().nullable().meta({ description: "Of its program; null: not known." }),
  isDrained: z.boolean().meta({ description: "A stop keeps it from taking new work." }),
  takesWork: z.boolean().meta({ description: "It takes delegations from queues." }),
  host: z.string().nullable(),
  pid: z.number().nullable(),
  startedAt: moment.nullable(),
  goneSince: moment.nullable().meta({ description: "Null: it is alive, or the time is unknown." }),
  delegations: z.number().nullable().meta({ description: "Taken from queues and not finished." }),
  openRuns: z.number().meta({ description: "Open runs that it owns." }),
});

const workerList = z.object({
  engine: z.enum(["local", "dbos"]).meta({
    description:
      "local: the process that starts a run works on it. dbos: runs wait in a queue for a worker.",
  }),
  items: listOf(worker),
  isComplete: z.boolean().meta({ description: "False: some are not shown or counted." }),
});

const most = z.number().nullable();

const queue = z.object({
  name: z.string(),
  waiting: z.number(),
  working: z.number().meta({ description: "With a place in a worker." }),
  suspended: z.number().meta({
    description: "Taken by a worker, without a place: they wait for others, a person or a budget.",
  }),
  waitingSince: moment.nullable().meta({ description: "The start of the longest wait." }),
  limits: z
    .object({ all: most, worker: most, tenant: most })
    .meta({ description: "Most delegations with a place; null: no limit." }),
});

const queueList = z.object({
  items: listOf(queue).meta({ description: "Empty with the local engine." }),
  isComplete: z.boolean().meta({ description: "False: some were not counted." }),
});

const tag = "system";
/** Most runs that are read, and most workers that are shown. */
const mostRuns = 1000;
const mostWorkers = 500;

export const workerRoutes = [
  defineRoute({
    id: "listWorkers",
    method: "GET",
    path: "/workers",
    summary: "Lists the processes that share this store, with their state and load.",
    tag,
    role: "viewer",
    cost: 5,
    reply: workerList,
    async handle(_request, { runtime: { config, control, queues, store } }) {
      const stopped = await stoppedScopes(control.plane);
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
        executor,
        version: row.version,
        isDrained: stopped.has(`worker/${executor}`) || stopped.has(`version/${row.version}`),
        takesWork: executor !== null,
        host: row.host,
        pid: row.pid,
        startedAt: row.startedAt,
        goneSince: row.isAlive ? null : aliveUntil,
        delegations: executor === null ? null : (overview?.taken.get(executor) ?? 0),
        openRuns: owned.get(id) ?? 0,
      }));
      // Live workers come first, since not all can be shown; the sort keeps the order otherwise.
      const shown = items.toSorted((one, other) => Number(other.isAlive) - Number(one.isAlive));
      const isAll = items.length <= mostWorkers && runs.length < mostRuns;
      return {
        engine: queues === null ? ("local" as const) : config.engine.kind,
        items: shown.slice(0, mostWorkers),
        isComplete: isAll,
      };
    },
  }),
  defineRoute({
    id: "listQueues",
    method: "GET",
    path: "/queues",
    summary: "Shows the waiting and working delegations of each queue, and the limits.",
    tag,
    role: "viewer",
    cost: 5,
    reply: queueList,
    async handle(_request, { runtime: { control, queues } }) {
      if (queues === null) return { items: [], isComplete: true };
      const stopped = await stoppedScopes(control.plane);
      const { queues: found } = await queues.overview();
      const items = found.map((one) => ({ ...one, isPaused: stopped.has(`queue/${one.name}`) }));
      return { items, isComplete: true };
    },
  }),
];

async function stoppedScopes(plane: Pick<ControlPlane, "stops">): Promise<ReadonlySet<string>> {
  return new Set((await plane.stops()).map(({ scope }) => scope));
}

type KnownWorker = Omit<WorkerRow, "host" | "pid" | "startedAt"> &
  Pick<z.infer<typeof workerList>["items"][number], "host" | "pid" | "startedAt">;

/** For a store without a list of workers: this process, and the owners of open runs. */
async function knownByRuns(
  store: Store,
  owners: Iterable<string>,
): Promise<readonly KnownWorker[]> {
  const self = store.ownership.worker;
  const unknown = {
    executor: null,
    version: null,
    aliveUntil: null,
    host: null,
    pid: null,
    startedAt: null,
  };
  const here = { host: hostname(), pid: process.pid, isAlive: true };
  const others = [...owners].filter((id) => id !== self);
  return [
    { ...unknown, ...here, id: self },
    ...(await Promise.all(
      others.map(async (id) => ({ ...unknown, id, isAlive: await store.isWorkerAlive(id) })),
    )),
  ];
}
