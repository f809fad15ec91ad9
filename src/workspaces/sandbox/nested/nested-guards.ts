import { accessSync, constants, lstatSync } from "node:fs";
import { basename, join } from "node:path";
import { isBelow } from "../../../contracts/write-roots.ts";
import { obeyedNames } from "../../obeyed-names.ts";
import type { WorkspaceBinding } from "../../workspace-binding.ts";
import { describePlanted, describeReadOnly, describeUnseen } from "./describe-nested.ts";
import { enclosePlaces } from "./enclose-places.ts";
import { Gitlinks } from "./gitlinks.ts";
import { guardsOf } from "./guards-of.ts";
import { ObeyedWalk, type WalkBounds } from "./obeyed-walk.ts";
import { isEmptyFolder, type SetAside, setAside } from "./set-aside.ts";

/** What one command has to be kept from. */
export interface NestedGuard {
  /** Existing or not: to be mounted read-only, or covered. */
  readonly places: readonly string[];
  /** What is more closed than the contract says, in a sentence. */
  readonly remark?: string;
  /** Once the command has ended, or was not begun. A sentence when it left what it may not. */
  leave(): Promise<string | undefined>;
}

/** Write roots in which commands run, and what was there before the first of them began. */
interface Area {
  readonly walk: ObeyedWalk;
  readonly links: Gitlinks;
  running: number;
  /** Running, or about to. */
  users: number;
  /** By place, with its inode. */
  before: ReadonlyMap<string, number>;
  /** Covered in every command: what is there now was put there by somebody else. */
  covered: ReadonlySet<string>;
}

const mostAreas = 8;
const mostUnseen = 32;

/**
 * Keeps commands from what git or Mandate would obey at any depth, for workspaces in which somebody
 * else's git works: what is there is mounted read-only, what git looks for is covered, and what
 * appears nevertheless is set aside when a command has ended.
 */
export class NestedGuards {
  readonly #areas = new Map<string, Area>();
  readonly #bounds: WalkBounds | undefined;

  constructor(bounds?: WalkBounds) {
    this.#bounds = bounds;
  }

  async enter(workspace: WorkspaceBinding): Promise<NestedGuard> {
    const area = this.#areaOf(workspace.writeRoots);
    area.users += 1;
    try {
      return await this.#enter(workspace, area);
    } catch (error) {
      area.users -= 1;
      throw error;
    }
  }

  async #enter(workspace: WorkspaceBinding, area: Area): Promise<NestedGuard> {
    const { root, writeRoots: tops, forbidden } = workspace;
    const seen = await area.walk.walk(tops, forbidden);
    const late = area.running === 0 ? [] : removePlanted(workspace, area, seen.found);
    const found = seen.found.filter((place) => area.running === 0 || area.before.has(place));
    const { places, closed, links } = await guardsOf(root, tops, { ...seen, found }, area.links);
    // Asked again: somebody else may have been first meanwhile.
    if (area.running === 0) {
      area.before = inodesOf(found);
      // What lies at the root is guarded in every command, whatever was found.
      const atRoot = obeyedNames.map((name) => join(root, name));
      area.covered = new Set([...atRoot, ...links.map((link) => join(link, ".git"))]);
    }
    area.running += 1;
    const remark = describeReadOnly(root, closed.filter(concernsUs));
    return {
      places: [...places, ...closed],
      ...(remark !== undefined && { remark }),
      async leave() {
        try {
          const after = await area.walk.walk(tops, forbidden);
          const planted = [...late, ...removePlanted(workspace, area, after.found)];
          const isOpen = (place: string) => !closed.some((above) => isBelow(place, above));
          const unseen = enclosePlaces(after.unseen.filter(isOpen), tops, mostUnseen);
          const problems = [
            describePlanted(root, planted),
            describeUnseen(root, unseen.filter(concernsUs)),
          ];
          return problems.filter((problem) => problem !== undefined).join(" ") || undefined;
        } finally {
          area.running -= 1;
          area.users -= 1;
        }
      },
    };
  }

  /** The latest ones are remembered, and those in which something runs. */
  #areaOf(tops: readonly string[]): Area {
    const key = tops.join("\0");
    const area = this.#areas.get(key) ?? {
      ...{ walk: new ObeyedWalk(this.#bounds), links: new Gitlinks() },
      ...{ running: 0, users: 0, before: new Map(), covered: new Set<string>() },
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

/** What was not there before the first command began, or is another one by now. */
function removePlanted(
  workspace: WorkspaceBinding,
  area: Area,
  found: readonly string[],
): readonly SetAside[] {
  return found.flatMap((place) => {
    if (area.covered.has(place) || isEmptyFolder(place)) return [];
    const before = area.before.get(place);
    // People save files by replacing them; nobody replaces a `.git` as a whole.
    const isGit = basename(place).toLowerCase() === ".git";
    if (before !== undefined && (!isGit || before === inodeOf(place))) return [];
    return setAside(workspace, place) ?? [];
  });
}

function inodesOf(places: readonly string[]): ReadonlyMap<string, number> {
  const inodes = places.map((place) => [place, inodeOf(place)] as const);
  return new Map(inodes.filter(([, inode]) => inode !== -1));
}

function inodeOf(place: string): number {
  return lstatSync(place, { throwIfNoEntry: false })?.ino ?? -1;
}

/** What another user closed is closed to commands as well, and nobody needs to hear of it. */
function concernsUs(folder: string): boolean {
  try {
    accessSync(folder, constants.R_OK | constants.X_OK);
    return true;
  } catch {
    return lstatSync(folder, { throwIfNoEntry: false })?.uid === process.getuid?.();
  }
}
