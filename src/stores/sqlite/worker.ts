import { bootId, startOfProcess } from "../../workspaces/processes/process-start.ts";

/**
 * The owner of a run on one machine is a process, identified by its number, its start time and the
 * boot id, so that a later process with the same number is another worker. No clocks are compared.
 */
const livingHere = new Set<string>();
let opened = 0;

export function enrolWorker(): string {
  const worker = [process.pid, startOfProcess(process.pid) ?? "0", bootId(), ++opened].join(".");
  livingHere.add(worker);
  return worker;
}

export function dismissWorker(worker: string): void {
  livingHere.delete(worker);
}

/** Undefined: not a worker id of this store. */
export function pidOf(worker: string): number | undefined {
  const pid = Number(worker.split(".", 1)[0]);
  return Number.isSafeInteger(pid) && pid > 0 ? pid : undefined;
}

export function isWorkerAlive(worker: string): boolean {
  const [pid = "", start = "", boot = ""] = worker.split(".");
  if (boot !== bootId()) return false;
  if (Number(pid) === process.pid && start === startOfProcess(process.pid))
    return livingHere.has(worker);
  return startOfProcess(Number(pid)) === start;
}
