import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";

/**
 * Who owns a run, on one machine: a process, told apart from later ones with the same number by
 * its start time and by the boot it belongs to. No clock is compared, so no clock can lie.
 */
const livingHere = new Set<string>();
let opened = 0;

export function enrolWorker(): string {
  const worker = [process.pid, startOf(process.pid) ?? "0", bootId(), ++opened].join(".");
  livingHere.add(worker);
  return worker;
}

export function dismissWorker(worker: string): void {
  livingHere.delete(worker);
}

export function isWorkerAlive(worker: string): boolean {
  const [pid = "", start = "", boot = ""] = worker.split(".");
  if (boot !== bootId()) return false;
  if (Number(pid) === process.pid && start === startOf(process.pid)) return livingHere.has(worker);
  return startOf(Number(pid)) === start;
}

/** When the process began, in whatever unit the system counts; undefined when it is gone. */
function startOf(pid: number): string | undefined {
  if (!Number.isInteger(pid) || pid <= 0) return undefined;
  try {
    if (process.platform === "linux") {
      const stat = readFileSync(`/proc/${pid}/stat`, "latin1");
      // The command's name stands in parentheses and may contain anything, spaces included.
      const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
      // A zombie has ended: only its parent has not noticed yet.
      return fields[0] === "Z" ? undefined : fields[19];
    }
    const started = execFileSync("ps", ["-o", "lstart=", "-p", String(pid)], { encoding: "utf8" });
    return started.trim().replace(/[^0-9a-zA-Z]+/g, "-");
  } catch {
    return undefined;
  }
}

let boot: string | undefined;

function bootId(): string {
  boot ??= readBootId();
  return boot;
}

function readBootId(): string {
  try {
    return readFileSync("/proc/sys/kernel/random/boot_id", "latin1").slice(0, 8);
  } catch {
    return "local";
  }
}
