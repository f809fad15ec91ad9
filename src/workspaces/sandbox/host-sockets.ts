import { lstatSync, readFileSync } from "node:fs";
import { connect } from "node:net";
import { basename, join } from "node:path";
import { type Clock, systemClock } from "../../ports/clock.ts";
import type { WorkspaceBinding } from "../bind-workspace.ts";
import { ProtectedWalk } from "./protected-walk.ts";

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
