import { readFileSync } from "node:fs";
import { threadId } from "node:worker_threads";
import { findSystemProgram } from "./find-program.ts";
import { helperEnvironment } from "./program-environment.ts";
import { runToEnd } from "./start-program.ts";

/** The start time of a process, in the unit of the operating system; undefined when it is gone. */
export function startOfProcess(pid: number): string | undefined {
  if (!Number.isInteger(pid) || pid <= 0) return undefined;
  try {
    if (process.platform === "linux") {
      const stat = readFileSync(`/proc/${pid}/stat`, "latin1");
      // The command name is in parentheses and may contain anything, including spaces.
      const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
      // A zombie has ended; only its parent has not noticed yet.
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

/** Identifies the current boot of the machine. */
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
 * Identifies this process by number, start time and boot, so that a later process with the same
 * number differs. No clocks are compared. The parts hold only letters, digits and dashes, because
 * the identity is part of file names. Threads have separate identities: they share no memory.
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
