import { threadId } from "node:worker_threads";
import { bootId, startOfProcess } from "../../processes/process-start.ts";

/**
 * A process, told apart from later ones with the same number by its start time and by the boot it
 * belongs to. No clock is compared, so no clock can lie. Only letters, digits and dashes between
 * the dots: it is part of file names. Threads count one by one: they share no memory of ours.
 */
export function identifyThisProcess(): string {
  ownIdentity ??= [process.pid, startOfProcess(process.pid) ?? "0", bootId(), threadId].join(".");
  return ownIdentity;
}

let ownIdentity: string | undefined;

export function isProcessAlive(identity: string): boolean {
  const [pid = "", start = "", boot = ""] = identity.split(".");
  return boot === bootId() && startOfProcess(Number(pid)) === start;
}
