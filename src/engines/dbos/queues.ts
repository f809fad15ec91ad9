import type { EngineConfig, QueueConfig } from "../../control/config.ts";
import type { DispatchedWork } from "../../ports/dispatcher.ts";

/**
 * Where delegations wait for a worker. Each queue that is configured is one for every depth of a
 * tree: who waits for others keeps its place in the queue of its own depth, and those whom it waits
 * for are in a deeper one, so that a tree of any shape comes to its end.
 */
export interface NamedQueue {
  readonly name: string;
  readonly globalConcurrency?: number;
  readonly workerConcurrency: number;
  readonly partitionConcurrency?: number;
  readonly minPollingIntervalMs: number;
}

/**
 * How long work may wait for a worker that has room, at most. A look costs four small queries,
 * whether there is something or not; few trees are deep.
 */
const pollMs = 100;
const deepPollMs = 250;

const usual = "default";

/** All that are configured, or those of them that are named; `default` is always one of them. */
export function queuesOf(
  { queues }: EngineConfig,
  depths: number,
  atOnce: number,
  only?: readonly string[],
): readonly NamedQueue[] {
  const names = [...new Set([usual, ...Object.keys(queues)])];
  return names
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
  const most = Math.min(concurrency ?? Number.POSITIVE_INFINITY, workerConcurrency);
  return {
    name: nameAt(name, depth),
    workerConcurrency: most,
    minPollingIntervalMs: depth > 1 ? deepPollMs : pollMs,
    ...(concurrency !== undefined && { globalConcurrency: concurrency }),
    ...(tenantConcurrency !== undefined && {
      partitionConcurrency: Math.min(concurrency ?? tenantConcurrency, tenantConcurrency),
    }),
  };
}

function nameAt(name: string, depth: number): string {
  return `mandate-${name}-${depth}`;
}

/** Which queue a name of the engine's stands for, and at which depth; undefined: none of ours. */
export function placeOf(
  queueName: string,
): { readonly name: string; readonly depth: number } | undefined {
  const [, name, depth] = /^mandate-(.+)-(\d+)$/.exec(queueName) ?? [];
  return name === undefined ? undefined : { name, depth: Number(depth) };
}

/** Which queue takes a delegation, and how soon it is its turn there. */
export function routeOf(
  { queues }: EngineConfig,
  { depth, profile, provider }: Pick<DispatchedWork, "depth" | "profile" | "provider">,
): { readonly queueName: string; readonly priority: number; readonly isByTenant: boolean } {
  const takes = ({ profiles = [], providers = [] }: QueueConfig): boolean =>
    profiles.includes(profile) || providers.includes(provider);
  const [name, config] = Object.entries(queues).find(([, one]) => takes(one)) ?? [
    usual,
    queues[usual],
  ];
  return {
    queueName: nameAt(name, depth),
    priority: config?.priority ?? 1,
    isByTenant: config?.tenantConcurrency !== undefined,
  };
}
