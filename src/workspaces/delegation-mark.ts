import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { resolve } from "node:path";
import { nearestRealPath } from "./nearest-real-path.ts";

/** The variable in a process's environment that says which delegation it was started for. */
export const markName = "MANDATE_DELEGATION";

/** What is added to the environment of a process that somebody starts: a delegation, or its checks. */
export type DelegationMark = (owner: string) => Readonly<Record<string, string>>;

/** Ids count from one in every database, so a mark names the database as well. */
export function delegationMark(database: string): DelegationMark {
  const domain = domainOf(database);
  return (owner) => ({ [markName]: `${domain}.${owner.split(" ", 1)[0]}` });
}

/**
 * The processes that bear a mark of this database, by delegation. Their environment is what they
 * were started with: one that cleans it is not found, and neither are those of other users. Only
 * Linux tells.
 */
export function markedProcesses(database: string): ReadonlyMap<string, readonly number[]> {
  const found = new Map<string, number[]>();
  lookForMarked(database, (delegationId, pid) => {
    const others = found.get(delegationId);
    if (others) others.push(pid);
    else found.set(delegationId, [pid]);
  });
  return found;
}

/**
 * Tells of each as soon as it is seen, the youngest first: who is told of one can still end it
 * before it starts another. False: somebody went while we looked, and may have started one that
 * came too late to be seen.
 */
export function lookForMarked(
  database: string,
  onFound: (delegationId: string, pid: number) => void,
): boolean {
  if (process.platform !== "linux") return true;
  const beginning = `${markName}=${domainOf(database)}.`;
  const pids = readdirSync("/proc").filter((entry) => /^\d+$/.test(entry));
  let hasSeenAll = true;
  for (const pid of pids.map(Number).toSorted((a, b) => b - a)) {
    const mark = markIn(pid, beginning);
    if (mark === gone) hasSeenAll = false;
    else if (mark !== undefined) onFound(mark, pid);
  }
  return hasSeenAll;
}

const gone = Symbol("gone");

function markIn(pid: number, beginning: string): string | typeof gone | undefined {
  try {
    const environment = readFileSync(`/proc/${pid}/environ`, "latin1");
    // Nearly every process has none: do not split what needs no splitting.
    if (!environment.includes(beginning)) return undefined;
    const variable = environment.split("\0").find((one) => one.startsWith(beginning));
    return variable?.slice(beginning.length);
  } catch (error) {
    // Whatever is not ours to look at has no mark of ours.
    return goneCodes.has(codeOf(error)) ? gone : undefined;
  }
}

const goneCodes: ReadonlySet<unknown> = new Set(["ENOENT", "ESRCH"]);

function codeOf(error: unknown): unknown {
  return error instanceof Error ? (error as { code?: unknown }).code : undefined;
}

function domainOf(database: string): string {
  const { path } = nearestRealPath(resolve(database));
  return createHash("sha256").update(path).digest("hex").slice(0, 16);
}
