import { existsSync, lstatSync, readdirSync, readFileSync, realpathSync } from "node:fs";
import { basename, join } from "node:path";
import { type Clock, systemClock } from "../ports/clock.ts";
import { markedProcesses } from "./delegation-mark.ts";
import { journalsOf, layoutOf, lockFolderOf, worktreesOf } from "./git/copies/copy-layout.ts";
import { isHeld, listWorkingCopies } from "./git/copies/list-working-copies.ts";
import { readCopyRecord } from "./git/copies/working-copy.ts";
import { isProcessAlive } from "./git/process-identity.ts";

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

export interface FoundCopy {
  readonly id: string;
  readonly hasFolder: boolean;
  /** The copy that it is a copy of; null where it is one of a person's folder. */
  readonly madeOf: string | null;
  /** A living process makes it, or works in it. */
  readonly isHeld: boolean;
}

/** A merge into somebody's folder that has not come to its end. */
export interface BegunMerge {
  readonly id: string;
  /** Null when its journal cannot be read. */
  readonly into: string | null;
  /** A living process is about it. */
  readonly isHeld: boolean;
}

/** A place in the queue for a folder. */
export interface Ticket {
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
