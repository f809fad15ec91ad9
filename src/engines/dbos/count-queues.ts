import type { DBOSClient } from "@dbos-inc/dbos-sdk";
import type { EngineConfig } from "../../control/config.ts";
import { applicationName } from "./load-dbos.ts";
import type { QueueLimits, QueueOverview } from "./queue-overview.ts";
import { placeOf } from "./queues.ts";
import { isOfTenant, prefixOf } from "./workflow-id.ts";

export type CountedQueues = Pick<DBOSClient, "listQueues" | "listQueuedWorkflows">;

/** Counted at most, of what waits and of what is at work. */
const mostCounted = 1000;

const noLimits: QueueLimits = { all: null, worker: null, tenant: null };

/** Also queues that are empty, and those that no worker has taken anything from yet. */
export async function countQueues(
  client: CountedQueues,
  tenant: string,
  config: EngineConfig,
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
  const limits = limitsOf(config);
  for (const queue of registered) {
    const place = placeOf(queue.name);
    if (place === undefined) continue;
    limits.set(place.name, {
      all: queue.concurrency ?? null,
      worker: queue.workerConcurrency ?? null,
      tenant: queue.partitionConcurrency ?? null,
    });
  }
  const figures = new Map<string, { waiting: number; working: number; since: number | null }>();
  const of = (queueName: string | undefined) => {
    const name = placeOf(queueName ?? "")?.name ?? "";
    const known = figures.get(name) ?? { waiting: 0, working: 0, since: null };
    figures.set(name, known);
    return known;
  };
  for (const { createdAt, queueName } of [...waiting, ...delayed]) {
    const queue = of(queueName);
    queue.waiting++;
    queue.since = Math.min(queue.since ?? createdAt, createdAt);
  }
  const taken = new Map<string, number>();
  for (const { executorId, queueName } of working) {
    of(queueName).working++;
    if (executorId !== undefined) taken.set(executorId, (taken.get(executorId) ?? 0) + 1);
  }
  const names = [...new Set([...limits.keys(), ...figures.keys()])].filter((name) => name !== "");
  return {
    queues: names.map((name) => {
      const { since, ...counts } = figures.get(name) ?? { waiting: 0, working: 0, since: null };
      return { name, ...counts, waitingSince: since, limits: limits.get(name) ?? noLimits };
    }),
    taken,
    isComplete: [waiting, delayed, working].every(({ length }) => length < mostCounted),
  };
}

/** As they are configured here: what workers register has the last word. */
function limitsOf({ queues }: EngineConfig): Map<string, QueueLimits> {
  const limits = new Map([["default", noLimits]]);
  for (const [name, queue] of Object.entries(queues)) {
    limits.set(name, {
      all: queue.concurrency ?? null,
      worker: queue.workerConcurrency ?? null,
      tenant: queue.tenantConcurrency ?? null,
    });
  }
  return limits;
}
