import { bootId, startOfProcess } from "../../workspaces/processes/process-start.ts";

/**
 * Who owns a run, on one machine: a process, told apart from later ones with the same number by
 * its start time and by the boot it belongs to. No clock is compared, so no clock can lie.
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

/** Undefined: it is not an id of ours. */
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
