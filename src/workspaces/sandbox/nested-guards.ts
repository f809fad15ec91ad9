import { accessSync, constants, lstatSync } from "node:fs";
import { join } from "node:path";
import { isBelow } from "../../contracts/write-roots.ts";
import type { WorkspaceBinding } from "../bind-workspace.ts";
import { placeholderPathsOf } from "../protected/protection.ts";
import {
  describePlanted,
  describeReadOnly,
  describeUnseen,
  type GuardRecords,
} from "./guard-records.ts";
import { enclosePlaces, Gitlinks, guardsOf } from "./guards-of.ts";
import { ProtectedWalk, type WalkBounds } from "./protected-walk.ts";
import { type Before, isSettled, type Swept, stampOf, sweep } from "./sweep.ts";

/** What a command must be kept from. */
export interface NestedGuard {
  /** Existing or not: mounted read-only, or covered. */
  readonly places: readonly string[];
  /** The sockets below the write roots; absent: they were not searched for. */
  readonly sockets?: readonly string[];
  /** What is more restricted than the contract says, as a sentence. */
  readonly remark?: string;
  /**
   * Called when the command has ended, or was not started. Returns a sentence if the command left
   * something that it must not.
   */
  leave(): Promise<string | undefined>;
}

/** Write roots in which commands run, and what existed before the first command. */
interface Area {
  readonly walk: ProtectedWalk;
  readonly links: Gitlinks;
  running: number;
  /** Commands that run or are about to run. */
  users: number;
  before: Before;
  /**
   * Set if the last sweep could not set everything aside: it is repeated before a new state is
   * recorded.
   */
  left?: WorkspaceBinding | undefined;
  /** Removes the record of `before` from the disk. */
  forget: () => void;
}

interface NestedGuardsOptions {
  readonly bounds?: WalkBounds | undefined;
  /** The records for a later sweep; absent: if this process is killed, no other process sweeps. */
  readonly records?: GuardRecords | undefined;
}

const mostAreas = 8;
const mostUnseen = 32;
const nothing: Before = {
  ...{ places: new Map(), loose: new Map(), covered: new Set<string>(), closed: [] },
};

/**
 * Protects paths at any depth from commands, in workspaces in which a person's programs work.
 * Existing protected paths are mounted read-only, paths that git looks for are covered, and what
 * appears nevertheless is set aside when a command has ended.
 */
export class NestedGuards {
  readonly #areas = new Map<string, Area>();
  readonly #options: NestedGuardsOptions;

  constructor(options: NestedGuardsOptions = {}) {
    this.#options = options;
  }

  /**
   * `areMounted`: whether a sandbox mounts these paths. Without one everything is compared
   * afterwards.
   */
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

  /** Sweeps again where something could not be set aside. */
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
    // Checked again: another command may have started during the walk.
    if (!isBegun()) {
      // A path that has a placeholder is guarded in every command, whatever was found.
      const covered = [join(root, ".git"), ...placeholderPathsOf(root), ...guarded];
      area.before = {
        ...{ places: inodesOf([...theirs.found, ...theirs.repositories]), closed },
        loose: new Map(loose.map((link) => [link, stampOf(link)])),
        covered: new Set(
          areMounted ? [...covered, ...links.map((link) => join(link, ".git"))] : [],
        ),
      };
      area.forget = this.#options.records?.write(workspace, area.before) ?? area.forget;
    }
    // A write root that is itself a repository is read-only as a whole.
    const shut = places.filter((place) => tops.some((top) => isBelow(top, place)));
    const remark = describeReadOnly(root, [...closed, ...shut].filter(concernsUs));
    // Last: if something above throws, no command is counted.
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

  /** Keeps the areas that were used last, and those in which commands run. */
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

/** A path that is too long for the system call was created by a command. */
function ownerOf(folder: string): number | undefined {
  try {
    return lstatSync(folder, { throwIfNoEntry: false })?.uid;
  } catch {
    return process.getuid?.();
  }
}

/**
 * A folder that another user made inaccessible is inaccessible to commands as well: it is not
 * reported.
 */
function concernsUs(folder: string): boolean {
  try {
    accessSync(folder, constants.R_OK | constants.X_OK);
    return true;
  } catch {
    return ownerOf(folder) === process.getuid?.();
  }
}
