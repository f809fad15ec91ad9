import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { resolve } from "node:path";
import { type Clock, sleep, systemClock } from "../ports/clock.ts";
import { nearestRealPath } from "./resolve-inside.ts";

/** The environment variable that says for which delegation a process was started. */
export const markName = "MANDATE_DELEGATION";

/**
 * The variables added to the environment of a process that is started for a delegation or its
 * checks.
 */
export type DelegationMark = (owner: string) => Readonly<Record<string, string>>;

/** Ids are unique within one database, so a mark also names the database. */
export function delegationMark(database: string): DelegationMark {
  const domain = domainOf(database);
  return (owner) => ({ [markName]: `${domain}.${owner.split(" ", 1)[0]}` });
}

/**
 * The processes that bear a mark of this database, by delegation. The environment is the one at the
 * start of a process: a process that cleared it is not found, nor are those of other users. Linux
 * only.
 */
export function markedProcesses(database: string): ReadonlyMap<string, readonly number[]> {
  const found = new Map<string, number[]>();
  scanMarked(database, (delegationId, pid) => {
    const others = found.get(delegationId);
    if (others) others.push(pid);
    else found.set(delegationId, [pid]);
  });
  return found;
}

/**
 * Calls `onFound` for each marked process, youngest first, so that the caller can end it before it
 * starts another one. Returns false if a process ended during the scan and may have started one
 * that the scan missed. `ended` holds the zombies of earlier scans, whose children are listed by
 * now; those of this scan are added.
 */
export function scanMarked(
  database: string,
  onFound: (delegationId: string, pid: number) => void,
  ended: Set<number> = new Set(),
): boolean {
  if (process.platform !== "linux") return true;
  const beginning = `${markName}=${domainOf(database)}.`;
  const pids = readdirSync("/proc").filter((entry) => /^\d+$/.test(entry));
  let hasSeenAll = true;
  for (const pid of pids.map(Number).toSorted((a, b) => b - a)) {
    const mark = markIn(pid, beginning);
    if (mark === "gone" || (mark === "zombie" && !ended.has(pid))) hasSeenAll = false;
    if (mark === "zombie") ended.add(pid);
    else if (typeof mark === "object") onFound(mark.delegationId, pid);
  }
  return hasSeenAll;
}

type Mark = { readonly delegationId: string } | "none" | "gone" | "zombie";

function markIn(pid: number, beginning: string): Mark {
  const environment = environmentOf(pid);
  if (environment === undefined) return "none";
  if (environment === "") return withoutEnvironment(pid);
  // Nearly every process has no mark: avoid splitting the text.
  if (!environment.includes(beginning)) return "none";
  const variable = environment.split("\0").find((one) => one.startsWith(beginning));
  return variable === undefined ? "none" : { delegationId: variable.slice(beginning.length) };
}

/** Undefined: this process may not read it, so it has no mark of ours. */
function environmentOf(pid: number): string | undefined {
  try {
    return readFileSync(`/proc/${pid}/environ`, "latin1");
  } catch (error) {
    // Newer kernels return an error where older ones return nothing.
    return goneCodes.has(codeOf(error)) ? "" : undefined;
  }
}

/**
 * The environment is empty for kernel threads, for zombies, and for processes that are exiting or
 * executing another program at this moment.
 */
function withoutEnvironment(pid: number): Mark {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "latin1");
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    const [state, flags, endOfEnvironment] = [fields[0], fields[6], fields[48]];
    if (state === "Z") return "zombie";
    const isOfKernel = (Number(flags) & kernelThread) !== 0;
    return isOfKernel || endOfEnvironment !== "0" ? "none" : "gone";
  } catch {
    return "gone";
  }
}

/** `PF_KTHREAD` of the kernel. */
const kernelThread = 0x0020_0000;

const goneCodes: ReadonlySet<unknown> = new Set(["ENOENT", "ESRCH"]);

function codeOf(error: unknown): unknown {
  return error instanceof Error ? (error as { code?: unknown }).code : undefined;
}

function domainOf(database: string): string {
  const { path } = nearestRealPath(resolve(database));
  return createHash("sha256").update(path).digest("hex").slice(0, 16);
}

/** A process that cannot be ended within this time hangs in the kernel and does nothing. */
const endTimeoutMs = 2000;
/** On a busy machine processes come and go all the time, nearly all of them unrelated. */
const mostDoubts = 20;

/**
 * Ends the processes that bear the marks of these delegations. When it resolves they are gone, and
 * so is everything they started during the scans: it scans until none is found.
 */
export async function endMarkedProcesses(
  database: string,
  delegations: { has(id: string): boolean },
  clock: Clock = systemClock,
): Promise<void> {
  const began = clock.monotonic();
  const ended = new Set<number>();
  let doubts = 0;
  for (let waitMs = 1; clock.monotonic() - began < endTimeoutMs; ) {
    let isFree = true;
    const end = (delegationId: string, pid: number): void => {
      if (!delegations.has(delegationId)) return;
      signalProcess(pid, "SIGKILL");
      isFree = false;
    };
    const hasSeenAll = scanMarked(database, end, ended);
    if (isFree && (hasSeenAll || ++doubts >= mostDoubts)) return;
    if (isFree) continue;
    doubts = 0;
    // Some processes take a moment to end.
    await sleep(clock, waitMs);
    waitMs = Math.min(waitMs * 2, 20);
  }
}

/**
 * The descendants of a process at this moment. In a PID namespace an orphaned process becomes a
 * child of the first process, so none leaves this tree.
 */
export function descendantsOf(ancestor: number): readonly number[] {
  const children = new Map<number, number[]>();
  for (const entry of readdirSync("/proc")) {
    if (!/^\d+$/.test(entry)) continue;
    const parent = parentOf(entry);
    if (parent === undefined) continue;
    const siblings = children.get(parent);
    if (siblings === undefined) children.set(parent, [Number(entry)]);
    else siblings.push(Number(entry));
  }
  const found: number[] = [];
  const open = [ancestor];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const below = children.get(next) ?? [];
    found.push(...below);
    open.push(...below);
  }
  return found;
}

function parentOf(pid: string): number | undefined {
  try {
    // pid (name, which may hold anything) state parent …
    const stat = readFileSync(`/proc/${pid}/stat`, "latin1");
    return Number(stat.slice(stat.lastIndexOf(")") + 2).split(" ")[1]);
  } catch {
    // The process ended during the scan.
    return undefined;
  }
}

/**
 * The processes that were started with this variable in their environment, wherever they are now.
 */
export function processesMarked(mark: string): readonly number[] {
  return readdirSync("/proc").flatMap((entry) => {
    if (!/^\d+$/.test(entry)) return [];
    try {
      const environment = readFileSync(`/proc/${entry}/environ`, "latin1");
      return environment.split("\0").includes(mark) ? [Number(entry)] : [];
    } catch {
      return [];
    }
  });
}

export function signalProcess(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch {
    // The process is gone already.
  }
}

/** The number of tasks on the whole machine: one small file, instead of reading every process. */
export function countTasks(): number {
  try {
    return Number(/\/(\d+) /.exec(readFileSync("/proc/loadavg", "latin1"))?.[1] ?? 0);
  } catch {
    return 0;
  }
}
