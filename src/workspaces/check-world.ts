import { existsSync, lstatSync, readFileSync, realpathSync } from "node:fs";
import { basename, join } from "node:path";
import type { Violation } from "../events/checker/check-report.ts";
import type { CheckedDelegation } from "../events/checker/checked-run.ts";
import { namesIn } from "../files.ts";
import { type Clock, systemClock } from "../ports/clock.ts";
import { markedProcesses } from "./delegation-mark.ts";
import { isHeld, listWorkingCopies } from "./git/copies/list-working-copies.ts";
import {
  journalsOf,
  layoutOf,
  lockFolderOf,
  readCopyRecord,
  worktreesOf,
} from "./git/copies/working-copy.ts";
import { isProcessAlive } from "./processes/process-start.ts";

export interface WorldOptions {
  /** All work has ended: nothing may be in progress any more. */
  readonly settled?: boolean;
}

/** How long cleaning up after a close may take; what remains longer is a leftover. */
const graceMs = 60_000;

/**
 * Invariant I16, outside the database: no process bears the mark of a closed delegation; the only
 * working copies are those of open delegations, of failed ones with unmerged work, and the copies
 * that these were made from; no merge stopped half-way; no dead process has a ticket in a queue.
 *
 * Things that a live process may be working on are not reported, unless `settled` is set. `world`
 * must be read before the log that `delegations` come from, so that a delegation that is closed in
 * the log had finished its cleanup.
 */
export function checkWorld(
  world: World,
  delegations: Iterable<CheckedDelegation>,
  { settled = false }: WorldOptions = {},
): readonly Violation[] {
  const known = new Map<string, CheckedDelegation>();
  const users = new Map<string, CheckedDelegation[]>();
  for (const delegation of delegations) {
    known.set(delegation.id, delegation);
    const { copyId } = delegation;
    if (copyId !== null) users.set(copyId, [...(users.get(copyId) ?? []), delegation]);
  }
  const context = { world, known, users, settled };
  return [
    ...checkCopies(context),
    ...checkStrays(context),
    ...checkMissing(context),
    ...checkMerges(context),
    ...checkTickets(context),
    ...checkProcesses(context),
  ];
}

interface Context {
  readonly world: World;
  readonly known: ReadonlyMap<string, CheckedDelegation>;
  /** By copy, in the order in which the delegations worked in it. */
  readonly users: ReadonlyMap<string, readonly CheckedDelegation[]>;
  readonly settled: boolean;
}

function* checkCopies(context: Context): Generator<Violation> {
  for (const copy of context.world.copies) {
    const message = problemOf(copy, context);
    if (message !== undefined) yield violation(message, context.users.get(copy.id)?.at(-1));
  }
}

function problemOf({ id, isHeld }: FoundCopy, context: Context): string | undefined {
  const { known, settled, users, world } = context;
  const all = users.get(id) ?? [];
  const last = all.at(-1);
  if (last === undefined) {
    if (known.get(id)?.status === "unclear" || (isHeld && !settled)) return undefined;
    return `The working copy ${id} belongs to no delegation.`;
  }
  if (all.some(isOpen) || last.status !== "completed" || last.keeps === true) return undefined;
  if (!settled && world.at - (last.closedAt ?? 0) < graceMs) return undefined;
  // Unmerged work in a copy of this copy can be merged only through this copy.
  if (world.copies.some(({ madeOf }) => madeOf === id)) return undefined;
  return `The delegation is completed, but its working copy ${id} still exists.`;
}

function* checkStrays({ settled, world }: Context): Generator<Violation> {
  for (const { path, since } of world.strays) {
    if (!settled && world.at - since < graceMs) continue;
    yield violation(`"${path}" is a leftover of a working copy that was being created or removed.`);
  }
}

function* checkMissing({ settled, users, world }: Context): Generator<Violation> {
  const whole = new Set(world.copies.flatMap(({ id, hasFolder }) => (hasFolder ? [id] : [])));
  for (const [id, all] of users) {
    const open = whole.has(id) ? undefined : all.find(({ status }) => status === "open");
    if (open === undefined || open.travels === true) continue;
    // A copy is created before its delegation, so this one existed, and it was not closed.
    if (!settled && open.createdAt >= world.at) continue;
    yield violation(`The delegation is open, but its working copy ${id} is missing.`, open);
  }
}

function* checkMerges({ known, settled, users, world }: Context): Generator<Violation> {
  for (const { id, into, isHeld } of world.merges) {
    if (isHeld && !settled) continue;
    const where = into === null ? "an unknown folder" : `"${into}"`;
    const message = `A merge of the working copy ${id} into ${where} stopped half-way.`;
    yield violation(message, users.get(id)?.at(-1) ?? known.get(id));
  }
}

function* checkTickets({ settled, world }: Context): Generator<Violation> {
  for (const { path, isHeld } of world.tickets) {
    if (isHeld && !settled) continue;
    const who = isHeld ? "A process" : "A dead process";
    yield violation(`${who} still has a ticket in the queue of a folder: "${path}".`);
  }
}

function* checkProcesses({ known, settled, world }: Context): Generator<Violation> {
  for (const [id, pids] of world.processes) {
    const delegation = known.get(id);
    const isClosed = delegation?.status === "completed" || delegation?.status === "failed";
    if (!isClosed && !settled) continue;
    const state = isClosed ? "The delegation is closed" : "All work has ended";
    const message = `${state}, but its processes still run: ${pids.join(", ")}.`;
    yield violation(message, delegation);
  }
}

function isOpen({ status }: CheckedDelegation): boolean {
  return status === "open" || status === "unclear";
}

function violation(message: string, about?: CheckedDelegation): Violation {
  if (about === undefined) return { invariant: "I16", message };
  return { invariant: "I16", runId: about.runId, delegationId: about.id, message };
}

/** The files and processes beside a database at one moment. Reading them changes nothing. */
export interface World {
  /** Milliseconds since 1970. */
  readonly at: number;
  readonly copies: readonly FoundCopy[];
  /** Entries among the copies that are not copies and belong to no live process. */
  readonly strays: readonly { readonly path: string; readonly since: number }[];
  readonly merges: readonly BegunMerge[];
  readonly tickets: readonly Ticket[];
  /** The ids of processes, by delegation. */
  readonly processes: ReadonlyMap<string, readonly number[]>;
}

interface FoundCopy {
  readonly id: string;
  readonly hasFolder: boolean;
  /** The copy that this one was made from; null for a copy of a person's folder. */
  readonly madeOf: string | null;
  /** A live process is creating it or working in it. */
  readonly isHeld: boolean;
}

/** A merge into a person's folder that is not finished. */
interface BegunMerge {
  readonly id: string;
  /** Null if the journal cannot be read. */
  readonly into: string | null;
  /** A live process is carrying it out. */
  readonly isHeld: boolean;
}

/** A place in the queue for a folder. */
interface Ticket {
  readonly path: string;
  readonly isHeld: boolean;
}

export function lookAtWorld({
  home: named,
  database,
  clock = systemClock,
}: {
  readonly home: string;
  readonly database: string;
  readonly clock?: Clock;
}): World {
  const at = clock.now();
  const home = existsSync(named) ? realpathSync.native(named) : named;
  const ids = listWorkingCopies(home);
  return {
    at,
    copies: ids.map((id) => ({
      id,
      hasFolder: existsSync(layoutOf(home, id).folder),
      madeOf: originOf(home, id),
      isHeld: isHeld(home, id),
    })),
    strays: findStrays(home, new Set(ids)),
    merges: findMerges(home),
    tickets: findTickets(join(home, "locks")),
    processes: markedProcesses(database),
  };
}

function originOf(home: string, id: string): string | null {
  try {
    const source = readCopyRecord(home, id)?.source;
    return source?.kind === "copy" ? basename(source.toplevel) : null;
  } catch {
    // A damaged record is reported when the copy is used.
    return null;
  }
}

function findStrays(home: string, copies: ReadonlySet<string>): World["strays"] {
  return [worktreesOf(home), join(home, "copies")].flatMap((parent) =>
    namesIn(parent).flatMap((name) => {
      const path = join(parent, name);
      if (copies.has(name) || isHeld(home, name)) return [];
      // The folder is renamed when its removal begins, so the time of that change counts.
      const since = lstatSync(path, { throwIfNoEntry: false })?.ctimeMs;
      return since === undefined ? [] : [{ path, since }];
    }),
  );
}

function findMerges(home: string): readonly BegunMerge[] {
  const folder = journalsOf(home);
  return namesIn(folder).flatMap((name) => {
    if (!name.endsWith(".json")) return [];
    const into = targetOf(join(folder, name));
    // The process that carries out a merge locks the files of the target and releases them last.
    const lock = into === null ? undefined : lockFolderOf(home, into, "files");
    const isCarriedOut = lock !== undefined && findTicketsIn(lock).some((ticket) => ticket.isHeld);
    if (!existsSync(join(folder, name))) return [];
    return [{ id: name.slice(0, -".json".length), into, isHeld: isCarriedOut }];
  });
}

function targetOf(journal: string): string | null {
  try {
    const { toplevel } = JSON.parse(readFileSync(journal, "utf8")) as { toplevel?: unknown };
    return typeof toplevel === "string" ? toplevel : null;
  } catch {
    return null;
  }
}

function findTickets(locks: string): readonly Ticket[] {
  return namesIn(locks).flatMap((folder) => findTicketsIn(join(locks, folder)));
}

function findTicketsIn(folder: string): readonly Ticket[] {
  return namesIn(folder).map((name) => ({
    path: join(folder, name),
    isHeld: isProcessAlive(name.slice(name.indexOf(".") + 1)),
  }));
}
