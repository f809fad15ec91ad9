/**
 * Ends processes together with everything they started. On POSIX a server leads a process group of
 * its own; a descendant that makes itself the leader of another one is out of reach.
 */
import { readdirSync, readFileSync } from "node:fs";
import { type Clock, sleep, systemClock } from "../../ports/clock.ts";
import { findSystemProgram } from "../../workspaces/processes/find-program.ts";
import { helperEnvironment } from "../../workspaces/processes/program-environment.ts";
import { startProgram } from "../../workspaces/processes/start-program.ts";

const isWindows = process.platform === "win32";
const live = new Set<number>();
let isWatching = false;

/** From here on it does not outlive this process, unless that is killed without a word. */
export function watchGroup(pid: number): void {
  live.add(pid);
  if (isWatching) return;
  isWatching = true;
  process.once("exit", () => {
    for (const group of live) signalGroup(group, "SIGKILL");
  });
}

/** Resolves when none of it is left, or when it cannot be helped. Never rejects. */
export async function endGroup(
  pid: number,
  graceMs: number,
  clock: Clock = systemClock,
): Promise<void> {
  signalGroup(pid, "SIGTERM");
  if (!(await isGoneWithin(pid, graceMs, clock))) {
    signalGroup(pid, "SIGKILL");
    await isGoneWithin(pid, 1000, clock);
  }
  live.delete(pid);
}

function signalGroup(pid: number, signal: "SIGTERM" | "SIGKILL"): void {
  if (isWindows) {
    const finding = findSystemProgram("taskkill");
    if (!finding.isFound) return;
    const args = ["/PID", String(pid), "/T", ...(signal === "SIGKILL" ? ["/F"] : [])];
    const { program } = finding;
    const environment = helperEnvironment();
    startProgram({ program, args, environment }, ["ignore", "ignore", "ignore"]).on(
      "error",
      ignore,
    );
    return;
  }
  try {
    process.kill(-pid, signal);
  } catch {
    // The process is gone already.
  }
}

async function isGoneWithin(pid: number, ms: number, clock: Clock): Promise<boolean> {
  const end = clock.monotonic() + ms;
  for (let wait = 2; exists(pid); wait = Math.min(wait * 2, 64)) {
    if (clock.monotonic() >= end) return false;
    await sleep(clock, wait);
    if (wait >= 32 && isAllDead(pid)) return true;
  }
  return true;
}

/**
 * In a container whose first process reaps no children, the dead stay in the table and would look
 * as if they refused to end. Only Linux says which are which.
 */
function isAllDead(group: number): boolean {
  if (process.platform !== "linux") return false;
  try {
    return readdirSync("/proc").every((entry) => !/^\d+$/.test(entry) || !isLiveIn(group, entry));
  } catch {
    return false;
  }
}

function isLiveIn(group: number, pid: string): boolean {
  try {
    // pid (name, which may hold anything) state parent group …
    const stat = readFileSync(`/proc/${pid}/stat`, "latin1");
    const [state, , itsGroup] = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    return itsGroup === String(group) && state !== "Z" && state !== "X";
  } catch {
    // The process ended during the check.
    return false;
  }
}

function exists(pid: number): boolean {
  try {
    process.kill(isWindows ? pid : -pid, 0);
    return true;
  } catch (error) {
    return error instanceof Error && "code" in error && error.code === "EPERM";
  }
}

function ignore(): void {}
