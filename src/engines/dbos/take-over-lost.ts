import type { Store } from "../../ports/store.ts";
import { applicationName, loadDbos } from "./load-dbos.ts";

const mostAtOnce = 1000;

/**
 * Puts back into their queues what workers had taken whose lease is over. Several survivors may do
 * so at once: who is first to claim a delegation works on it. Gives how many there were.
 */
export async function takeOverLost(store: Pick<Store, "isWorkerAlive">): Promise<number> {
  const { DBOS } = await loadDbos();
  const pending = await DBOS.listWorkflows({
    applicationName,
    status: "PENDING",
    loadInput: false,
    loadOutput: false,
    limit: mostAtOnce,
  });
  const isAlive = new Map<string, boolean>();
  const lost = new Map<string, string[]>();
  for (const { executorId, queueName, workflowID } of pending) {
    if (executorId === undefined || queueName === undefined) continue;
    if (!isAlive.has(executorId)) isAlive.set(executorId, await store.isWorkerAlive(executorId));
    if (isAlive.get(executorId)) continue;
    const others = lost.get(queueName);
    if (others) others.push(workflowID);
    else lost.set(queueName, [workflowID]);
  }
  let count = 0;
  for (const [queueName, ids] of lost) {
    await DBOS.resumeWorkflows(ids, { queueName });
    count += ids.length;
  }
  return count;
}
