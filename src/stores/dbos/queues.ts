import type { EngineConfig, QueueConfig } from "../../control/config.ts";
import type { DispatchedWork } from "../../ports/workers.ts";
import { applicationName } from "./load-dbos.ts";

/** A delegation in a queue. Everything else that a worker needs is in the delegation's log. */
export interface QueuedWork extends DispatchedWork {
  readonly tenant: string;
  /** How often workers that could not take it sent it on. */
  readonly sentOn: number;
}

/**
 * A queue of DBOS. Each configured queue has one for every depth of a tree: a delegation that waits
 * for others keeps its place at its own depth, and those are deeper, so that every tree can complete.
 */
export interface NamedQueue {
  readonly name: string;
  readonly globalConcurrency?: number;
  readonly workerConcurrency: number;
  readonly partitionConcurrency?: number;
  /** How long work waits at most for a free worker. A poll costs four small queries. */
  readonly minPollingIntervalMs: number;
}

const defaultQueue = "default";

/** All configured queues and `default`, or those of them that are named. */
export function queuesOf(
  { queues }: EngineConfig,
  depths: number,
  atOnce: number,
  only?: readonly string[],
): readonly NamedQueue[] {
  return [...new Set([defaultQueue, ...Object.keys(queues)])]
    .filter((name) => only === undefined || only.includes(name))
    .flatMap((name) =>
      Array.from({ length: depths + 1 }, (_, depth) => queueAt(name, depth, queues[name], atOnce)),
    );
}

function queueAt(
  name: string,
  depth: number,
  config: QueueConfig | undefined,
  atOnce: number,
): NamedQueue {
  const { concurrency, tenantConcurrency, workerConcurrency = atOnce } = config ?? {};
  return {
    name: nameAt(name, depth),
    workerConcurrency: Math.min(concurrency ?? workerConcurrency, workerConcurrency),
    // Few trees are deep.
    minPollingIntervalMs: depth > 1 ? 250 : 100,
    ...(concurrency !== undefined && { globalConcurrency: concurrency }),
    ...(tenantConcurrency !== undefined && {
      partitionConcurrency: Math.min(concurrency ?? tenantConcurrency, tenantConcurrency),
    }),
  };
}

function nameAt(name: string, depth: number): string {
  return `mandate-${name}-${depth}`;
}

/** The configured name of a queue of DBOS; undefined: not a queue of Mandate. */
function configuredName(queueName: string): string | undefined {
  return /^mandate-(.+)-\d+$/.exec(queueName)?.[1];
}

/** The queue that takes a delegation, and its priority there. */
export function routeOf(
  { queues }: EngineConfig,
  { depth, profile, provider }: Pick<DispatchedWork, "depth" | "profile" | "provider">,
): { readonly queueName: string; readonly priority: number; readonly isByTenant: boolean } {
  const takes = ({ profiles = [], providers = [] }: QueueConfig): boolean =>
    profiles.includes(profile) || providers.includes(provider);
  const [name, config] = Object.entries(queues).find(([, one]) => takes(one)) ?? [
    defaultQueue,
    queues[defaultQueue],
  ];
  return {
    queueName: nameAt(name, depth),
    priority: config?.priority ?? 1,
    isByTenant: config?.tenantConcurrency !== undefined,
  };
}

/**
 * The same for the same delegation, so that sending it twice sends it once. `again`: a name for this
 * time, because the workflow of the previous one has ended.
 */
export function workflowIdOf({ delegationId, sentOn, tenant }: QueuedWork, again = ""): string {
  const name = `${tenant}/${delegationId}`;
  return sentOn === 0 && again === "" ? name : `${name}/${again}${sentOn}`;
}

/** The workflows of a tenant. DBOS takes a prefix as a LIKE pattern. */
export function prefixOf(tenant: string): string {
  return `${tenant.replaceAll(/[\\%_]/g, "\\$&")}/`;
}

export function isOfTenant(tenant: string, workflowId: string): boolean {
  return workflowId.startsWith(`${tenant}/`);
}

/** How full the queues are with one tenant's work. */
export interface QueueOverview {
  readonly queues: readonly QueueFigures[];
  /** How many delegations each executor has taken. */
  readonly taken: ReadonlyMap<string, number>;
  /** False: there are more than were counted. */
  readonly isComplete: boolean;
}

interface QueueFigures {
  readonly name: string;
  readonly waiting: number;
  readonly working: number;
  /** When the longest waiting delegation was sent; null: none waits. */
  readonly waitingSince: number | null;
  readonly limits: QueueLimits;
}

/** At each depth of a tree; null: no limit. */
interface QueueLimits {
  readonly all: number | null;
  readonly worker: number | null;
  readonly tenant: number | null;
}

const mostCounted = 1000;
const emptyQueue = { waiting: 0, working: 0, waitingSince: null };

/** The part of DBOS's client that is used here; its own type is not installed with the package. */
interface QueueLister {
  listQueues(): Promise<
    readonly {
      readonly name: string;
      readonly concurrency?: number;
      readonly partitionConcurrency?: number;
      readonly workerConcurrency?: number;
    }[]
  >;
  listQueuedWorkflows(filter: {
    applicationName: string;
    status: "DELAYED" | "ENQUEUED" | "PENDING";
    limit: number;
    loadInput: boolean;
    loadOutput: boolean;
    workflow_id_prefix: string;
  }): Promise<
    readonly {
      readonly workflowID: string;
      readonly createdAt: number;
      readonly executorId?: string;
      readonly queueName?: string;
    }[]
  >;
}

/** Counts at most 1,000 delegations of each status. Includes queues that are empty or have no worker. */
export async function countQueues(
  client: QueueLister,
  tenant: string,
  { queues }: EngineConfig,
): Promise<QueueOverview> {
  const list = async (status: "DELAYED" | "ENQUEUED" | "PENDING") => {
    const found = await client.listQueuedWorkflows({
      ...{ applicationName, status, limit: mostCounted, loadInput: false, loadOutput: false },
      workflow_id_prefix: prefixOf(tenant),
    });
    return found.filter(({ workflowID }) => isOfTenant(tenant, workflowID));
  };
  const [registered, waiting, delayed, working] = await Promise.all([
    client.listQueues(),
    list("ENQUEUED"),
    list("DELAYED"),
    list("PENDING"),
  ]);
  const figures = new Map<string, { -readonly [Key in keyof QueueFigures]: QueueFigures[Key] }>();
  const figuresOf = (name: string) => {
    const known = figures.get(name) ?? { ...emptyQueue, name, limits: limitsOf() };
    figures.set(name, known);
    return known;
  };
  figuresOf(defaultQueue);
  for (const [name, queue] of Object.entries(queues)) {
    const { concurrency, tenantConcurrency, workerConcurrency } = queue;
    figuresOf(name).limits = limitsOf(concurrency, workerConcurrency, tenantConcurrency);
  }
  // What workers have registered counts more than this process's configuration.
  for (const queue of registered) {
    const { concurrency, partitionConcurrency, workerConcurrency } = queue;
    const name = configuredName(queue.name);
    if (name === undefined) continue;
    figuresOf(name).limits = limitsOf(concurrency, workerConcurrency, partitionConcurrency);
  }
  for (const { createdAt, queueName = "" } of [...waiting, ...delayed]) {
    const name = configuredName(queueName);
    if (name === undefined) continue;
    const queue = figuresOf(name);
    queue.waiting++;
    queue.waitingSince = Math.min(queue.waitingSince ?? createdAt, createdAt);
  }
  const taken = new Map<string, number>();
  for (const { executorId, queueName = "" } of working) {
    const name = configuredName(queueName);
    if (name !== undefined) figuresOf(name).working++;
    if (executorId !== undefined) taken.set(executorId, (taken.get(executorId) ?? 0) + 1);
  }
  return {
    queues: [...figures.values()],
    taken,
    isComplete: [waiting, delayed, working].every(({ length }) => length < mostCounted),
  };
}

function limitsOf(all?: number, worker?: number, tenant?: number): QueueLimits {
  return { all: all ?? null, worker: worker ?? null, tenant: tenant ?? null };
}
