import { accessSync, constants, lstatSync } from "node:fs";
import { join } from "node:path";
import { isBelow } from "../../contracts/write-roots.ts";
import type { WorkspaceBinding } from "../bind-workspace.ts";
import { standInsOf } from "../protected/protection.ts";
import {
  describePlanted,
  describeReadOnly,
  describeUnseen,
  type GuardRecords,
} from "./guard-records.ts";
import { enclosePlaces, Gitlinks, guardsOf } from "./guards-of.ts";
import { ProtectedWalk, type WalkBounds } from "./protected-walk.ts";
import { type Before, isSettled, type Swept, stampOf, sweep } from "./sweep.ts";

/** What one command has to be kept from. */
export interface NestedGuard {
  /** Existing or not: to be mounted read-only, or covered. */
  readonly places: readonly string[];
  /** The sockets below the write roots; absent: they were not looked for. */
  readonly sockets?: readonly string[];
  /** What is more closed than the contract says, in a sentence. */
  readonly remark?: string;
  /** Once the command has ended, or was not begun. A sentence when it left what it may not. */
  leave(): Promise<string | undefined>;
}

/** Write roots in which commands run, and what was there before the first of them began. */
interface Area {
  readonly walk: ProtectedWalk;
  readonly links: Gitlinks;
  running: number;
  /** Running, or about to. */
  users: number;
  before: Before;
  /** Not swept clean since `before`: more is looked for before another state counts as one. */
  left?: WorkspaceBinding | undefined;
  /** Takes `before` from the disk again. */
  forget: () => void;
}

interface NestedGuardsOptions {
  readonly bounds?: WalkBounds | undefined;
  /** Absent: no process sweeps after this one if it is killed. */
  readonly records?: GuardRecords | undefined;
}

const mostAreas = 8;
const mostUnseen = 32;
const nothing: Before = {
  ...{ places: new Map(), loose: new Map(), covered: new Set<string>(), closed: [] },
};

/**
 * Keeps commands from what is protected at any depth, for workspaces in which a person's
 * programs work: what is there is mounted read-only, what git looks for is covered, and what appears
 * nevertheless is set aside when a command has ended.
 */
export class NestedGuards {
  readonly #areas = new Map<string, Area>();
  readonly #options: NestedGuardsOptions;

  constructor(options: NestedGuardsOptions = {}) {
    this.#options = options;
  }

  /** `areMounted`: whether a sandbox holds what is named here. Without one all is compared. */
  async enter(workspace: WorkspaceBinding, areMounted = true): Promise<NestedGuard> {
    const area = this.#areaOf(workspace.writeRoots);
    area.users += 1;
    try {
      return await this.#enter(workspace, area, areMounted);
    } catch (error) {
      area.users -= 1;
      throw error;
    }
  }

  /** Tries once more where something could not be set aside. */
  async settle(): Promise<void> {
    for (const area of this.#areas.values()) {
      if (area.left !== undefined && area.users === 0) await this.#sweep(area.left, area);
    }
  }

  async #enter(workspace: WorkspaceBinding, area: Area, areMounted: boolean): Promise<NestedGuard> {
    const { root, writeRoots: tops, forbidden = [], guarded = [] } = workspace;
    const isBegun = () => area.running > 0 || area.left !== undefined;
    const late = isBegun() ? (await this.#sweep(workspace, area)).planted : [];
    const { bounds } = this.#options;
    const seen = await area.walk.walk(root, tops, { left: forbidden, ...(bounds && { bounds }) });
    const isTold = (place: string) => !isBegun() || area.before.places.has(place);
    const theirs = {
      ...{ ...seen, found: seen.found.filter(isTold) },
      repositories: seen.repositories.filter(isTold),
    };
    const { places, closed, links, loose } = await guardsOf(root, tops, theirs, area.links);
    // Asked again: somebody else may have been first meanwhile.
    if (!isBegun()) {
      // What has an empty folder in its place is guarded in every command, whatever was found.
      const covered = [join(root, ".git"), ...standInsOf(root), ...guarded];
      area.before = {
        ...{ places: inodesOf([...theirs.found, ...theirs.repositories]), closed },
        loose: new Map(loose.map((link) => [link, stampOf(link)])),
        covered: new Set(
          areMounted ? [...covered, ...links.map((link) => join(link, ".git"))] : [],
        ),
      };
      area.forget = this.#options.records?.write(workspace, area.before) ?? area.forget;
    }
    // A write root that is itself a repository leaves nothing to write.
    const shut = places.filter((place) => tops.some((top) => isBelow(top, place)));
    const remark = describeReadOnly(root, [...closed, ...shut].filter(concernsUs));
    // Last: what throws before this has no command that could leave.
    area.running += 1;
    return {
      places: [...places, ...closed],
      sockets: seen.sockets,
      ...(remark !== undefined && { remark }),
      leave: async () => {
        area.left = workspace;
        try {
          const { planted, unseen } = await this.#sweep(workspace, area);
          const told = enclosePlaces(unseen, tops, mostUnseen).filter(concernsUs);
          const problems = [
            describePlanted(root, [...late, ...planted]),
            describeUnseen(root, told),
          ];
          return problems.filter((problem) => problem !== undefined).join(" ") || undefined;
        } finally {
          area.running -= 1;
          area.users -= 1;
          if (area.running === 0 && area.left === undefined) area.forget();
        }
      },
    };
  }

  async #sweep(workspace: WorkspaceBinding, area: Area): Promise<Swept> {
    const swept = await sweep(workspace, area.walk, area.before, this.#options.bounds);
    if (isSettled(swept.planted)) {
      area.left = undefined;
      if (area.running === 0) area.forget();
    }
    return swept;
  }

  /** The latest ones are remembered, and those in which something runs. */
  #areaOf(tops: readonly string[]): Area {
    const key = tops.join("\0");
    const area = this.#areas.get(key) ?? {
      ...{ walk: new ProtectedWalk(this.#options.bounds), links: new Gitlinks() },
      ...{ running: 0, users: 0, before: nothing, forget: () => undefined },
    };
    this.#areas.delete(key);
    this.#areas.set(key, area);
    for (const [oldest, { users }] of this.#areas) {
      if (this.#areas.size <= mostAreas) break;
      if (users === 0 && oldest !== key) this.#areas.delete(oldest);
    }
    return area;
  }
}

function inodesOf(places: readonly string[]): ReadonlyMap<string, number> {
  const inodes = places.map((place) => [place, inodeOf(place)] as const);
  return new Map(inodes.filter(([, inode]) => inode !== -1));
}

function inodeOf(place: string): number {
  return lstatSync(place, { throwIfNoEntry: false })?.ino ?? -1;
}

/** A path that is too long for the system belongs to the commands that made it. */
function ownerOf(folder: string): number | undefined {
  try {
    return lstatSync(folder, { throwIfNoEntry: false })?.uid;
  } catch {
    return process.getuid?.();
  }
}

/** What another user closed is closed to commands as well, and nobody needs to hear of it. */
function concernsUs(folder: string): boolean {
  try {
    accessSync(folder, constants.R_OK | constants.X_OK);
    return true;
  } catch {
    return ownerOf(folder) === process.getuid?.();
  }
}
