import { existsSync, lstatSync, readdirSync, readFileSync, realpathSync } from "node:fs";
import { basename, join } from "node:path";
import type { Violation } from "../events/checker/check-report.ts";
import type { CheckedDelegation } from "../events/checker/checked-run.ts";
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
  /** Everybody has let go: nothing may be on its way any more. */
  readonly settled?: boolean;
}

/** What becomes of things right after a close may take so long; then it is left over. */
const graceMs = 60_000;

/**
 * I16, beside the database: no process bears the id of a closed delegation; there are the copies
 * that open delegations work in, those that a failed one left its work in, those that these were
 * made of, and no others; no merge has stopped half-way; nobody who is gone stands in a queue.
 *
 * What a living process may be about at this moment is not told, unless all is settled. `world` is
 * to be looked at before the log that `delegations` are from: what is then closed had its end.
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
  /** By copy, in the order in which they worked in it. */
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
  if (all.some(isOpen) || last.status !== "completed") return undefined;
  if (!settled && world.at - (last.closedAt ?? 0) < graceMs) return undefined;
  // Work that somebody left in a copy of this one finds its way back through this one only.
  if (world.copies.some(({ madeOf }) => madeOf === id)) return undefined;
  return `It is completed, and the working copy ${id} is still there.`;
}

function* checkStrays({ settled, world }: Context): Generator<Violation> {
  for (const { path, since } of world.strays) {
    if (!settled && world.at - since < graceMs) continue;
    yield violation(`"${path}" is what is left of a working copy that was being made or removed.`);
  }
}

function* checkMissing({ settled, users, world }: Context): Generator<Violation> {
  const whole = new Set(world.copies.flatMap(({ id, hasFolder }) => (hasFolder ? [id] : [])));
  for (const [id, all] of users) {
    const open = whole.has(id) ? undefined : all.find(({ status }) => status === "open");
    if (open === undefined || open.travels === true) continue;
    // A copy is made before its delegation is created: this one was there, and closed by nobody.
    if (!settled && open.createdAt >= world.at) continue;
    yield violation(`It is open, and the working copy ${id} that it works in is gone.`, open);
  }
}

function* checkMerges({ known, settled, users, world }: Context): Generator<Violation> {
  for (const { id, into, isHeld } of world.merges) {
    if (isHeld && !settled) continue;
    const where = into === null ? "a folder that its journal does not name" : `"${into}"`;
    const message = `A merge of the working copy ${id} into ${where} has stopped half-way.`;
    yield violation(message, users.get(id)?.at(-1) ?? known.get(id));
  }
}

function* checkTickets({ settled, world }: Context): Generator<Violation> {
  for (const { path, isHeld } of world.tickets) {
    if (isHeld && !settled) continue;
    const who = isHeld ? "Somebody" : "A process that is gone";
    yield violation(`${who} still stands in a queue for a folder: "${path}".`);
  }
}

function* checkProcesses({ known, settled, world }: Context): Generator<Violation> {
  for (const [id, pids] of world.processes) {
    const delegation = known.get(id);
    const isClosed = delegation?.status === "completed" || delegation?.status === "failed";
    if (!isClosed && !settled) continue;
    const state = isClosed ? "It is closed" : "Everybody has let go of it";
    const message = `${state}, and processes of it still run: ${pids.join(", ")}.`;
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

/** What lies and runs beside a database at one moment. Nothing is changed by looking. */
export interface World {
  /** Milliseconds since 1970. */
  readonly at: number;
  readonly copies: readonly FoundCopy[];
  /** What lies among the copies, is none, and belongs to no living process. */
  readonly strays: readonly { readonly path: string; readonly since: number }[];
  readonly merges: readonly BegunMerge[];
  readonly tickets: readonly Ticket[];
  /** By delegation. */
  readonly processes: ReadonlyMap<string, readonly number[]>;
}

interface FoundCopy {
  readonly id: string;
  readonly hasFolder: boolean;
  /** The copy that it is a copy of; null where it is one of a person's folder. */
  readonly madeOf: string | null;
  /** A living process makes it, or works in it. */
  readonly isHeld: boolean;
}

/** A merge into somebody's folder that has not come to its end. */
interface BegunMerge {
  readonly id: string;
  /** Null when its journal cannot be read. */
  readonly into: string | null;
  /** A living process is about it. */
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
    // What a damaged record says is nobody's business here: it is seen when the copy is used.
    return null;
  }
}

function findStrays(home: string, copies: ReadonlySet<string>): World["strays"] {
  return [worktreesOf(home), join(home, "copies")].flatMap((parent) =>
    names(parent).flatMap((name) => {
      const path = join(parent, name);
      if (copies.has(name) || isHeld(home, name)) return [];
      // Renamed when somebody begins to remove it: from then on its time counts.
      const since = lstatSync(path, { throwIfNoEntry: false })?.ctimeMs;
      return since === undefined ? [] : [{ path, since }];
    }),
  );
}

function findMerges(home: string): readonly BegunMerge[] {
  const folder = journalsOf(home);
  return names(folder).flatMap((name) => {
    if (!name.endsWith(".json")) return [];
    const into = targetOf(join(folder, name));
    // Who carries it out holds the files of its target, and lets go of them last.
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
  return names(locks).flatMap((folder) => findTicketsIn(join(locks, folder)));
}

function findTicketsIn(folder: string): readonly Ticket[] {
  return names(folder).map((name) => ({
    path: join(folder, name),
    isHeld: isProcessAlive(name.slice(name.indexOf(".") + 1)),
  }));
}

function names(folder: string): readonly string[] {
  try {
    return readdirSync(folder).sort();
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "ENOENT" || code === "ENOTDIR") return [];
    throw error;
  }
}
