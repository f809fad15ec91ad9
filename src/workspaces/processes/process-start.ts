import { readFileSync } from "node:fs";
import { threadId } from "node:worker_threads";
import { findSystemProgram } from "./find-program.ts";
import { helperEnvironment } from "./program-environment.ts";
import { runToEnd } from "./start-program.ts";

/** When the process began, in the unit that the system counts in; undefined when it is gone. */
export function startOfProcess(pid: number): string | undefined {
  if (!Number.isInteger(pid) || pid <= 0) return undefined;
  try {
    if (process.platform === "linux") {
      const stat = readFileSync(`/proc/${pid}/stat`, "latin1");
      // The command's name is in parentheses and may contain anything, spaces included.
      const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
      // A zombie has ended: only its parent has not noticed yet.
      return fields[0] === "Z" ? undefined : fields[19];
    }
    return askPs(pid);
  } catch {
    return undefined;
  }
}

function askPs(pid: number): string | undefined {
  const ps = findSystemProgram("ps");
  if (!ps.isFound) return undefined;
  const { stdout } = runToEnd(
    {
      program: ps.program,
      args: ["-o", "lstart=", "-p", String(pid)],
      environment: helperEnvironment(),
    },
    { timeoutMs: 10_000 },
  );
  return stdout.trim().replace(/[^0-9a-zA-Z]+/g, "-") || undefined;
}

let boot: string | undefined;

/** Which boot of the machine this is. */
export function bootId(): string {
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
