import { existsSync, mkdirSync, readdirSync, rmdirSync, rmSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { namesIn } from "../../../files.ts";
import { sleep, systemClock } from "../../../ports/clock.ts";
import { identifyThisProcess, isProcessAlive } from "../../processes/process-start.ts";
import { lockFolderOf } from "../copies/working-copy.ts";

/** What a lock is for: the order of integrations, or access to the files. */
type QueuePurpose = "integration" | "files";

// Shared by all queues of this process: two runtimes on one folder are one holder of its lock.
const lastInLine = new Map<string, Promise<unknown>>();

/**
 * Runs one piece of work at a time for each place, first come, first served, among all processes of
 * this machine. Integrations run in the order in which they were queued.
 */
export class IntegrationQueue {
  readonly #home: string;

  constructor(home: string) {
    this.#home = resolve(home);
  }

  /** An abort removes the caller from the queue; work that has begun must end by itself. */
  run<Result>(
    toplevel: string,
    work: () => Promise<Result>,
    options: { readonly purpose?: QueuePurpose; readonly signal?: AbortSignal } = {},
  ): Promise<Result> {
    const folder = lockFolderOf(this.#home, toplevel, options.purpose ?? "integration");
    const before = lastInLine.get(folder) ?? Promise.resolve();
    const { promise, resolve: succeed, reject } = Promise.withResolvers<Result>();
    const { signal } = options;
    const leave = (): void => reject(signal?.reason);
    signal?.addEventListener("abort", leave, { once: true });
    const turn = before.then(async () => {
      signal?.throwIfAborted();
      const release = await acquirePlaceLock(folder, options);
      try {
        // A caller that aborted at the last moment was told so: nothing may happen for it any more.
        signal?.throwIfAborted();
        signal?.removeEventListener("abort", leave);
        succeed(await work());
      } finally {
        release();
      }
    });
    const settled = turn.catch(reject);
    lastInLine.set(folder, settled);
    void settled.then(() => {
      signal?.removeEventListener("abort", leave);
      if (lastInLine.get(folder) === settled) lastInLine.delete(folder);
    });
    return promise;
  }
}

/**
 * One holder at a time among all processes of this machine, in order of arrival: Lamport's bakery
 * algorithm, with files for numbers. All information is in the file name, so no file is ever half
 * written. A dead process is recognized by its identity and its number is ignored: no lock has to
 * be stolen, and none expires.
 */
export async function acquirePlaceLock(
  folder: string,
  options: { readonly signal?: AbortSignal; readonly pollMs?: number } = {},
): Promise<() => void> {
  const { pollMs = 10, signal } = options;
  const me = identifyThisProcess();
  const choosing = join(folder, `choosing.${me}`);
  // Announced before the numbers are read: a process that reads them later waits for this choice.
  announce(folder, choosing);
  let ticket: Ticket;
  try {
    const highest = Math.max(0, ...readTickets(folder).tickets.map(({ number }) => number));
    ticket = { number: highest + 1, identity: me };
    writeFileSync(join(folder, nameOf(ticket)), "");
  } finally {
    rmSync(choosing, { force: true });
  }
  const release = (): void => {
    rmSync(join(folder, nameOf(ticket)), { force: true });
    removeUnused(folder);
  };
  try {
    // A file that is renamed while a folder is listed can be missed once, not twice in a row.
    while (!(isFirst(folder, ticket) && isFirst(folder, ticket))) {
      // The other holders are other processes, so the system's time is used.
      await sleep(systemClock, pollMs, signal);
    }
  } catch (error) {
    release();
    throw error;
  }
  return release;
}

/** The last process that left may have removed the folder; with this file in it, none can. */
function announce(folder: string, choosing: string): void {
  for (;;) {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    try {
      writeFileSync(choosing, "");
      return;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
    }
  }
}

/** Removes the folder of a queue that no process uses: most places are never locked again. */
function removeUnused(folder: string): void {
  try {
    rmdirSync(folder);
  } catch {
    // A process is in the queue, or has removed the folder already.
  }
}

/** Removes the tickets of dead processes from all queues, because some are never used again. */
export function sweepPlaceLocks(home: string): void {
  const locks = join(home, "locks");
  for (const name of existsSync(locks) ? readdirSync(locks) : []) {
    const folder = join(locks, name);
    readTickets(folder);
    removeUnused(folder);
  }
}

interface Ticket {
  readonly number: number;
  readonly identity: string;
}

function nameOf(ticket: Ticket): string {
  return `${String(ticket.number).padStart(12, "0")}.${ticket.identity}`;
}

function isFirst(folder: string, ticket: Ticket): boolean {
  const { tickets, isChoosing } = readTickets(folder);
  if (isChoosing) return false;
  const mine = nameOf(ticket);
  return !tickets.some((other) => nameOf(other) < mine);
}

/** The tickets of live processes. Removes those of dead processes. */
function readTickets(folder: string): { tickets: readonly Ticket[]; isChoosing: boolean } {
  const tickets: Ticket[] = [];
  let isChoosing = false;
  for (const name of namesIn(folder)) {
    const [first = "", ...rest] = name.split(".");
    const identity = rest.join(".");
    if (!isProcessAlive(identity)) rmSync(join(folder, name), { force: true });
    else if (first !== "choosing") tickets.push({ number: Number(first), identity });
    else if (identity !== identifyThisProcess()) isChoosing = true;
  }
  return { tickets, isChoosing };
}
