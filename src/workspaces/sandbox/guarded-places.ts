import { lstatSync, readFileSync, rmdirSync, statSync } from "node:fs";
import { connect } from "node:net";
import { basename, dirname, join } from "node:path";
import { isBelow } from "../../contracts/write-roots.ts";
import { makeFolder } from "../../files.ts";
import { type Clock, systemClock } from "../../ports/clock.ts";
import { CallDenied } from "../../ports/mandate-error.ts";
import type { WorkspaceBinding } from "../bind-workspace.ts";
import { foldedName, standInsOf } from "../protected/protection.ts";
import { ProtectedWalk } from "./protected-walk.ts";
import type { SandboxPolicy } from "./sandbox.ts";

/** How places inside the workspace are kept from being written, or from being seen at all. */
interface GuardPlan {
  /** Mounted onto themselves, outermost first: a folder above a guarded place cannot be moved. */
  readonly pinned: readonly string[];
  readonly readOnly: readonly string[];
  /** Shown as empty. */
  readonly covered: readonly Cover[];
  /** To be created first, as empty folders: git does not see those. */
  readonly missing: readonly string[];
}

export interface Cover {
  readonly place: string;
  readonly kind: "file" | "folder";
}

/**
 * A mount protects what exists and the name it has: whoever may write the folder above could move
 * that away and put another in its place, or create what is missing. So the folders above are
 * pinned, and what is missing gets a placeholder.
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
    // A guarded folder around a write root leaves nothing to write in it.
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

/** Shortest first, so that what lies below another one is known to be covered. */
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
 * What programs would obey at the root, there or not. What lies deeper has to be looked for, and
 * comes as `guarded`.
 */
function obeyedPlaces({ root, ownsGit }: SandboxPolicy): readonly string[] {
  const git = join(root, ".git");
  const isFolder = lstatSync(git, { throwIfNoEntry: false })?.isDirectory() === true;
  const ofGit = ownsGit && isFolder ? gitSteering.map((name) => join(git, name)) : [git];
  const isLinked = (place: string) =>
    lstatSync(place, { throwIfNoEntry: false })?.isSymbolicLink() === true;
  // Links of other programs are guarded where they lead to, and looked at afterwards.
  const others = standInsOf(root).filter((place) => mustBeMounted(place) || !isLinked(place));
  return [...others, ...ofGit];
}

/** What makes git run programs or look for objects elsewhere. */
const gitSteering = ["config", "hooks", "info", "objects/info"];

interface Walk {
  /** Existing folders between the root and the place. */
  readonly folders: readonly string[];
  /** The first name on the way that does not exist. */
  readonly missing?: string;
  /** A file on the way, below which nothing can be for as long as it is there. */
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
    `"${basename(place)}" steers git or Mandate and is a symbolic link, which cannot be protected ` +
      "from a command. Work without shell, or say that a person should replace the link.",
  );
}

export function kindOfExisting(place: string): Cover["kind"] | undefined {
  const status = statSync(place, { throwIfNoEntry: false });
  return status && (status.isDirectory() ? "folder" : "file");
}

/**
 * Empty folders that stand where nothing may be created, for as long as some delegation runs
 * commands there. Only what was made here and is still empty is removed again.
 */
export class Placeholders {
  readonly #holders = new Map<string, Set<string>>();

  /** Those that are missing, and from then on all that are there below the root. */
  hold(owner: string, root: string, missing: readonly string[]): void {
    for (const place of missing) {
      if (makeFolder(place, 0o755)) this.#holders.set(place, new Set());
    }
    // For whoever comes later they exist, and must go on to.
    for (const [place, holders] of this.#holders) if (isBelow(place, root)) holders.add(owner);
  }

  release(owner: string): void {
    // The last ones first: one may have been put into another.
    for (const [place, holders] of [...this.#holders].reverse()) {
      if (!holders.delete(owner) || holders.size > 0) continue;
      this.#holders.delete(place);
      try {
        rmdirSync(place);
      } catch {
        // Gone, or somebody has put something there: then it is no longer ours.
      }
    }
  }
}

const names = [".git", ".mandate", "mandate.yaml"];

/**
 * What git and Mandate obey is never left to a comparison afterwards: where a link is in its place,
 * the folder around it is closed. Other programs' files are links more often, and stay usable.
 */
export function mustBeMounted(place: string): boolean {
  return names.includes(foldedName(basename(place)));
}

/** Sockets of processes outside that one command has to be kept from. */
export interface SocketGuard {
  readonly places: readonly string[];
  /** Once the command has ended, or was not begun. */
  leave(): void;
}

/** A workspace in which commands run, and the sockets that were served before the first of them. */
interface Area {
  readonly walk: ProtectedWalk;
  running: number;
  served: ReadonlySet<string>;
}

const mostAreas = 8;
// Every mount takes its time.
const mostSockets = 128;
const patienceMs = 200;
/** Git's own daemon; the walk does not look into `.git`. */
const ofGit = ".git/fsmonitor--daemon.ipc";

/**
 * Finds the UNIX sockets in a workspace that a process outside serves. A network namespace does not
 * hold these: a database or a daemon of the person would answer to a command. Sockets that commands
 * make themselves stay open to them, and one that no process serves any more can be made again.
 */
export class HostSockets {
  readonly #clock: Clock;
  readonly #areas = new Map<string, Area>();

  constructor(clock: Clock = systemClock) {
    this.#clock = clock;
  }

  /** `seen` are the sockets in the whole workspace, where these are known already. */
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

/** Which of them are served. The kernel's list is asked first: it disturbs no process. */
async function servedOf(places: readonly string[], clock: Clock): Promise<readonly string[]> {
  const there = places.filter((place) => lstatSync(place, { throwIfNoEntry: false })?.isSocket());
  if (there.length === 0) return [];
  const listed = listedNames();
  const served = await Promise.all(
    there.map((place) => listed.has(basename(place)) || answers(place, clock)),
  );
  return there.filter((_, index) => served[index]);
}

/** By the last part of their paths: a socket may have been bound by a relative path or a link. */
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

/** Answers that mean that no process can be reached there; every other one counts as served. */
const unserved: readonly unknown[] = ["ECONNREFUSED", "ENOENT", "EACCES", "ENOTSOCK"];

/**
 * Whether a process in another network namespace serves it, such as one in a container. Connects
 * and hangs up in order: a server that is cut off in the middle may end.
 */
function answers(place: string, clock: Clock): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ path: place });
    const timer = clock.after(patienceMs, () => resolve(true));
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
