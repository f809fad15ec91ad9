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
  if (process.platform !== "linux") return found;
  const beginning = `${markName}=${domainOf(database)}.`;
  for (const entry of readdirSync("/proc")) {
    if (!/^\d+$/.test(entry)) continue;
    const mark = markIn(entry, beginning);
    if (mark === undefined) continue;
    const others = found.get(mark);
    if (others) others.push(Number(entry));
    else found.set(mark, [Number(entry)]);
  }
  return found;
}

function markIn(pid: string, beginning: string): string | undefined {
  try {
    const environment = readFileSync(`/proc/${pid}/environ`, "latin1");
    // Nearly every process has none: do not split what needs no splitting.
    if (!environment.includes(beginning)) return undefined;
    const variable = environment.split("\0").find((one) => one.startsWith(beginning));
    return variable?.slice(beginning.length);
  } catch {
    // It went while we looked, or is not ours to look at.
    return undefined;
  }
}

function domainOf(database: string): string {
  const { path } = nearestRealPath(resolve(database));
  return createHash("sha256").update(path).digest("hex").slice(0, 16);
}
