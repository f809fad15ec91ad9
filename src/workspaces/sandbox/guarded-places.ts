import { lstatSync, readFileSync, rmdirSync, statSync } from "node:fs";
import { connect } from "node:net";
import { basename, dirname, join } from "node:path";
import { isBelow } from "../../contracts/write-roots.ts";
import { makeFolder } from "../../files.ts";
import { type Clock, systemClock } from "../../ports/clock.ts";
import { CallDenied } from "../../ports/mandate-error.ts";
import type { WorkspaceBinding } from "../bind-workspace.ts";
import { foldedName, placeholderPathsOf } from "../protected/protection.ts";
import { ProtectedWalk } from "./protected-walk.ts";
import type { SandboxPolicy } from "./sandbox.ts";

/** How paths inside the workspace are protected from writing, or hidden. */
interface GuardPlan {
  /** Folders mounted onto themselves, outermost first: a folder above a guarded path cannot be moved. */
  readonly pinned: readonly string[];
  readonly readOnly: readonly string[];
  /** Places that are shown as empty. */
  readonly covered: readonly Cover[];
  /** Created first as empty folders, which git ignores. */
  readonly missing: readonly string[];
}

export interface Cover {
  readonly place: string;
  readonly kind: "file" | "folder";
}

/**
 * A mount protects an existing path under its current name. A command that may write the parent
 * folder could move it away and put something else in its place, or create what is missing. So
 * parent folders are pinned, and missing paths get a placeholder.
 */
export function planGuards(policy: SandboxPolicy): GuardPlan {
  const pinned = new Set<string>();
  const readOnly: string[] = [];
  const covered: Cover[] = [];
  const missing: string[] = [];
  const writeRoots = policy.allowWrites ? policy.writeRoots : [];
  for (const { place, isHidden } of placesOf(policy)) {
    if (covered.some((above) => isBelow(place, above.place))) continue;
    if (!isHidden && readOnly.some((above) => isBelow(place, above))) continue;
    // A guarded folder around a write root makes all of the write root read-only.
    if (!isHidden) readOnly.push(...writeRoots.filter((root) => isBelow(root, place)));
    const root = writeRoots.find((folder) => place !== folder && isBelow(place, folder));
    if (root === undefined) {
      const kind = isHidden ? kindOfExisting(place) : undefined;
      if (kind !== undefined) covered.push({ place, kind });
      continue;
    }
    const way = walkDown(root, place);
    for (const folder of way.folders) pinned.add(folder);
    if (way.missing !== undefined) {
      covered.push({ place: way.missing, kind: "folder" });
      missing.push(way.missing);
    } else if (isHidden) covered.push({ place, kind: kindOfExisting(place) ?? "folder" });
    else readOnly.push(way.file ?? place);
  }
  const byDepth = [...pinned].sort((left, right) => left.length - right.length);
  return { pinned: byDepth, readOnly: [...new Set(readOnly)], covered, missing };
}

interface GuardedPlace {
  readonly place: string;
  readonly isHidden: boolean;
}

/** Shortest first, so that a path below a covered one is known to be covered. */
function placesOf(policy: SandboxPolicy): readonly GuardedPlace[] {
  const { root, guarded, forbidden, visible } = policy;
  const obeyed = policy.isThrowaway ? [] : obeyedPlaces(policy);
  const shown = [root, ...visible];
  return [
    ...[...guarded, ...obeyed].map((place) => ({ place, isHidden: false })),
    ...forbidden
      .filter((place) => shown.some((folder) => isBelow(place, folder)))
      .map((place) => ({ place, isHidden: true })),
  ].sort((left, right) => left.place.length - right.place.length);
}

/**
 * Paths at the root that programs would obey, existing or not. Deeper ones are searched for, and
 * come as `guarded`.
 */
function obeyedPlaces({ root, ownsGit }: SandboxPolicy): readonly string[] {
  const git = join(root, ".git");
  const isFolder = lstatSync(git, { throwIfNoEntry: false })?.isDirectory() === true;
  const ofGit = ownsGit && isFolder ? gitSteering.map((name) => join(git, name)) : [git];
  const isLinked = (place: string) =>
    lstatSync(place, { throwIfNoEntry: false })?.isSymbolicLink() === true;
  // Links of other programs are guarded at their targets, and checked afterwards.
  const others = placeholderPathsOf(root).filter(
    (place) => mustBeMounted(place) || !isLinked(place),
  );
  return [...others, ...ofGit];
}

/** What makes git run programs or search objects elsewhere. */
const gitSteering = ["config", "hooks", "info", "objects/info"];

interface Walk {
  /** Existing folders between the root and the place. */
  readonly folders: readonly string[];
  /** The first name on the way that does not exist. */
  readonly missing?: string;
  /** A file on the way; nothing can exist below it. */
  readonly file?: string;
}

function walkDown(root: string, place: string): Walk {
  const way: string[] = [];
  for (let at = place; at !== root; at = dirname(at)) way.unshift(at);
  const folders: string[] = [];
  for (const at of way) {
    const status = lstatSync(at, { throwIfNoEntry: false });
    if (status === undefined) return { folders, missing: at };
    if (status.isSymbolicLink()) throw linkDenied(at);
    if (at !== place && !status.isDirectory()) return { folders, file: at };
    if (at !== place) folders.push(at);
  }
  return { folders };
}

/** A link can be neither covered nor pinned: it could be replaced by anything. */
function linkDenied(place: string): CallDenied {
  return new CallDenied(
    "guard_is_link",
    `"${basename(place)}" controls git or Mandate and is a symbolic link, which cannot be protected ` +
      "from a command. Work without shell, or say that a person should replace the link.",
  );
}

export function kindOfExisting(place: string): Cover["kind"] | undefined {
  const status = statSync(place, { throwIfNoEntry: false });
  return status && (status.isDirectory() ? "folder" : "file");
}

/**
 * Empty folders that stand where nothing may be created, for as long as a delegation runs commands
 * there. Only folders that were created here and are still empty are removed.
 */
export class Placeholders {
  readonly #holders = new Map<string, Set<string>>();

  /** Creates the missing folders, and holds all placeholders below the root for this owner. */
  hold(owner: string, root: string, missing: readonly string[]): void {
    for (const place of missing) {
      if (makeFolder(place, 0o755)) this.#holders.set(place, new Set());
    }
    // For a later owner they exist already, and must continue to exist.
    for (const [place, holders] of this.#holders) if (isBelow(place, root)) holders.add(owner);
  }

  release(owner: string): void {
    // The last ones first: one may be inside another.
    for (const [place, holders] of [...this.#holders].reverse()) {
      if (!holders.delete(owner) || holders.size > 0) continue;
      this.#holders.delete(place);
      try {
        rmdirSync(place);
      } catch {
        // Gone, or no longer empty: then it is not Mandate's any more.
      }
    }
  }
}

const names = [".git", ".mandate", "mandate.yaml"];

/**
 * Whether a path must be protected by a mount, because comparing it afterwards is not enough: git
 * and Mandate obey it. If a link has its name, the parent folder is made read-only. Files of other
 * programs are links more often, and stay usable.
 */
export function mustBeMounted(place: string): boolean {
  return names.includes(foldedName(basename(place)));
}

/** Sockets of processes outside the sandbox that a command must not reach. */
export interface SocketGuard {
  readonly places: readonly string[];
  /** Called when the command has ended, or was not started. */
  leave(): void;
}

/** A workspace in which commands run, and the sockets that were served before the first command. */
interface Area {
  readonly walk: ProtectedWalk;
  running: number;
  served: ReadonlySet<string>;
}

const mostAreas = 8;
// The most sockets that are covered: every mount takes time.
const mostSockets = 128;
const answerMs = 200;
/** Git's own daemon; the walk does not enter `.git`. */
const ofGit = ".git/fsmonitor--daemon.ipc";

/**
 * Finds the UNIX sockets in a workspace that a process outside the sandbox serves. A network
 * namespace does not block these: a database or a daemon of the person would answer a command.
 * Sockets that commands create themselves stay usable, and a socket that no process serves can be
 * created again.
 */
export class HostSockets {
  readonly #clock: Clock;
  readonly #areas = new Map<string, Area>();

  constructor(clock: Clock = systemClock) {
    this.#clock = clock;
  }

  /** `seen`: the sockets in the whole workspace, if they are known already. */
  async enter(workspace: WorkspaceBinding, seen?: readonly string[]): Promise<SocketGuard> {
    const { root, forbidden = [] } = workspace;
    const area = this.#areaOf(root);
    const found = seen ?? (await area.walk.walk(root, [root], { left: forbidden })).sockets;
    // While a command runs, a new socket may be its own.
    const isOld = (place: string) => area.running === 0 || area.served.has(place);
    const asked = [...found, join(root, ofGit)].filter(isOld).slice(0, mostSockets);
    const places = await servedOf(asked, this.#clock);
    if (area.running === 0) area.served = new Set(places);
    area.running += 1;
    return {
      places,
      leave() {
        area.running -= 1;
      },
    };
  }

  #areaOf(root: string): Area {
    const known = this.#areas.get(root);
    const area = known ?? { walk: new ProtectedWalk(), running: 0, served: new Set<string>() };
    this.#areas.delete(root);
    this.#areas.set(root, area);
    for (const [oldest, { running }] of this.#areas) {
      if (this.#areas.size <= mostAreas) break;
      if (running === 0 && oldest !== root) this.#areas.delete(oldest);
    }
    return area;
  }
}

/** The places that a process serves. The kernel's list is read first: it disturbs no process. */
async function servedOf(places: readonly string[], clock: Clock): Promise<readonly string[]> {
  const there = places.filter((place) => lstatSync(place, { throwIfNoEntry: false })?.isSocket());
  if (there.length === 0) return [];
  const listed = listedNames();
  const served = await Promise.all(
    there.map((place) => listed.has(basename(place)) || answers(place, clock)),
  );
  return there.filter((_, index) => served[index]);
}

/** By file name: a socket may have been bound by a relative path or through a link. */
function listedNames(): ReadonlySet<string> {
  try {
    const lines = readFileSync("/proc/net/unix", "utf8").split("\n");
    // Seven columns, then the path, which most sockets do not have.
    const paths = lines.map((line) => /^(?:\S+ +){6}\d+ (.+)$/.exec(line)?.[1] ?? "");
    return new Set(paths.map((path) => basename(path)));
  } catch {
    return new Set();
  }
}

/** Errors that mean that no process can be reached; any other result counts as served. */
const unserved: readonly unknown[] = ["ECONNREFUSED", "ENOENT", "EACCES", "ENOTSOCK"];

/**
 * Whether a process in another network namespace serves the socket, for example in a container.
 * Connects and closes in order, because a server may end when it is cut off.
 */
function answers(place: string, clock: Clock): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ path: place });
    const timer = clock.after(answerMs, () => resolve(true));
    socket.on("connect", () => {
      resolve(true);
      socket.resume().end();
    });
    socket.on("error", ({ code }: NodeJS.ErrnoException) => {
      resolve(!unserved.includes(code));
    });
    socket.on("close", () => timer.cancel());
    socket.setTimeout(2000, () => socket.destroy());
    socket.unref();
  });
}
