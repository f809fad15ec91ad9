import type { EngineConfig, QueueConfig } from "../../control/config.ts";
import type { DispatchedWork } from "../../ports/workers.ts";

/** A delegation in a queue. Everything else that a worker needs is in the delegation's log. */
export type QueuedWork = Pick<DispatchedWork, "delegationId" | "runId">;

const defaultQueue = "default";

/** The configured queues and `default`, or those of them that are named: smaller priorities first. */
export function queuesOf({ queues }: EngineConfig, only?: readonly string[]): readonly string[] {
  const priorityOf = (name: string): number => queues[name]?.priority ?? usualPriority;
  return [...new Set([defaultQueue, ...Object.keys(queues)])]
    .filter((name) => only === undefined || only.includes(name))
    .sort((one, other) => priorityOf(one) - priorityOf(other));
}

const usualPriority = 1;

/** The queue of a delegation, and its priority there. */
export function routeOf(
  { queues }: EngineConfig,
  { profile, provider }: Pick<DispatchedWork, "profile" | "provider">,
): { readonly queue: string; readonly priority: number } {
  const takes = ({ profiles = [], providers = [] }: QueueConfig): boolean =>
    profiles.includes(profile) || providers.includes(provider);
  const [queue, config] = Object.entries(queues).find(([, one]) => takes(one)) ?? [
    defaultQueue,
    queues[defaultQueue],
  ];
  return { queue, priority: config?.priority ?? usualPriority };
}

/**
 * The queue's name in DBOS. Each tenant has queues of its own, so a worker cannot take work of a
 * tenant that it does not serve.
 */
export function queueNameOf(tenant: string, queue: string): string {
  return `${prefixOf(tenant)}${queue}`;
}

/** All queues of a tenant in DBOS begin with it. */
export function prefixOf(tenant: string): string {
  return `mandate/${tenant}/`;
}

/** The configured name of a tenant's queue in DBOS. */
export function configuredName(tenant: string, queueName: string): string {
  return queueName.slice(prefixOf(tenant).length);
}

/** One delegation gives one id, so that sending it twice enqueues it once. */
export function workflowIdOf(tenant: string, { delegationId, runId }: QueuedWork): string {
  return `${tenant}/${runId}/${delegationId}`;
}

export function workOf(workflowId: string): QueuedWork {
  const [, runId = "", delegationId = ""] = workflowId.split("/");
  return { runId, delegationId };
}

/** How full the queues are with one tenant's work. */
export interface QueueOverview {
  readonly queues: readonly QueueFigures[];
  /** How many delegations each executor has taken. */
  readonly taken: ReadonlyMap<string, number>;
}

export interface QueueFigures {
  readonly name: string;
  readonly waiting: number;
  /** The delegations that have a place in a worker. */
  readonly working: number;
  /** Taken by a worker, and without a place: they wait for a person, children, a budget or a retry. */
  readonly suspended: number;
  /** When the longest waiting delegation was sent; null: none waits. */
  readonly waitingSince: number | null;
  readonly limits: QueueLimits;
}

/** Delegations with a place; null: no limit. */
interface QueueLimits {
  readonly all: number | null;
  readonly worker: number | null;
  readonly tenant: number | null;
}

/** An empty queue with its configured limits. */
export function emptyQueue({ queues }: EngineConfig, name: string): QueueFigures {
  const { concurrency, tenantConcurrency, workerConcurrency } = queues[name] ?? {};
  return {
    ...{ name, waiting: 0, working: 0, suspended: 0, waitingSince: null },
    limits: {
      all: concurrency ?? null,
      worker: workerConcurrency ?? null,
      tenant: tenantConcurrency ?? null,
    },
  };
}
