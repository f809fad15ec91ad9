import { existsSync, mkdirSync, readdirSync, rmdirSync, rmSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { sleep, systemClock } from "../../../ports/clock.ts";
import { identifyThisProcess, isProcessAlive } from "../../processes/process-start.ts";
import { lockFolderOf } from "../copies/working-copy.ts";

/** What waits for the same thing: the order of integrations, or a look at the files themselves. */
type QueuePurpose = "integration" | "files";

// Shared by all queues of this process: two runtimes on one folder are one holder of its lock.
const lastInLine = new Map<string, Promise<unknown>>();

/**
 * One at a time for each place, first come, first served, in this process and among all of this
 * machine. Whoever wants integrations in a certain order asks in that order.
 */
export class IntegrationQueue {
  readonly #home: string;

  constructor(home: string) {
    this.#home = resolve(home);
  }

  /** A signal takes somebody out of the line; work that has begun is for the work itself to end. */
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
        // Who left at the last moment was told so: nothing may happen for them any more.
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
 * One holder at a time among all processes of this machine, in order of arrival: Lamport's bakery,
 * with files for numbers. A file's name holds everything, so none is ever half written, and a
 * process that died is recognised by its identity: its number no longer counts, there is nothing
 * to steal and no time after which a lock expires.
 */
export async function acquirePlaceLock(
  folder: string,
  options: { readonly signal?: AbortSignal; readonly pollMs?: number } = {},
): Promise<() => void> {
  const { pollMs = 10, signal } = options;
  const me = identifyThisProcess();
  const choosing = join(folder, `choosing.${me}`);
  // Announced before the numbers are read: who reads them later waits for this choice.
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
    // A name that moves while a folder is listed can be missed once, not twice in a row.
    while (!(isFirst(folder, ticket) && isFirst(folder, ticket))) {
      // Other processes hold the lock, and their time is the system's.
      await sleep(systemClock, pollMs, signal);
    }
  } catch (error) {
    release();
    throw error;
  }
  return release;
}

/** The last one who left may have taken the folder away; while this file is in it, nobody can. */
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

/** Places are many, and most are never asked for again. */
function removeUnused(folder: string): void {
  try {
    rmdirSync(folder);
  } catch {
    // Somebody stands in the queue, or has taken it away already.
  }
}

/** Takes the dead out of every queue: some of them nobody will stand in again. */
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

/** Of the living. What the dead left behind is swept away. */
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

function namesIn(folder: string): readonly string[] {
  try {
    return readdirSync(folder);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return [];
    throw error;
  }
}
