import { type Dirent, lstatSync, readdirSync } from "node:fs";
import { isObeyedName } from "../../obeyed-names.ts";

export interface WalkBounds {
  readonly folders: number;
  /** Of our own work; what others do meanwhile does not count. */
  readonly milliseconds: number;
}

export interface WalkFindings {
  /** Files, folders and links with a name that git or Mandate obeys. They are not entered. */
  readonly found: readonly string[];
  /** Folders that nobody has looked into: beyond the bounds, or closed to us. */
  readonly unseen: readonly string[];
}

interface Listing {
  readonly inode: number;
  readonly changed: number;
  readonly readAt: number;
  readonly folders: readonly string[];
  readonly obeyed: readonly string[];
  /** It has a folder whose name is no text, and that can so be neither entered nor mounted. */
  readonly isOdd: boolean;
}

const usualBounds: WalkBounds = { folders: 100_000, milliseconds: 2000 };
const sliceMs = 10;

/** A clock that ticks coarsely gives two changes one time; after so long nothing is missed. */
const settledMs = 2000;

/**
 * Looks for obeyed names in whole trees, level by level, and remembers each folder: as long as the
 * time of its last change stands, which nobody can set, one question replaces reading it. Links are
 * not followed.
 */
export class ObeyedWalk {
  readonly #listings = new Map<string, Listing>();
  readonly #bounds: WalkBounds;

  constructor(bounds: WalkBounds = usualBounds) {
    this.#bounds = bounds;
  }

  async walk(tops: readonly string[], left: readonly string[] = []): Promise<WalkFindings> {
    const leftOut = new Set(left);
    const queue = [...tops];
    const found: string[] = [];
    const unseen: string[] = [];
    let spent = 0;
    let since = performance.now();
    for (let index = 0; index < queue.length; index += 1) {
      const now = performance.now();
      if (index >= this.#bounds.folders || spent + now - since > this.#bounds.milliseconds) {
        return { found, unseen: [...unseen, ...queue.slice(index)] };
      }
      if (now - since > sliceMs) {
        spent += now - since;
        await new Promise(setImmediate);
        since = performance.now();
      }
      const folder = queue[index] ?? "";
      const listing = this.#list(folder);
      if (listing === "closed" || (listing !== "gone" && listing.isOdd)) unseen.push(folder);
      if (typeof listing === "string") continue;
      for (const name of listing.obeyed) found.push(`${folder}/${name}`);
      for (const name of listing.folders) {
        const place = `${folder}/${name}`;
        if (!leftOut.has(place)) queue.push(place);
      }
    }
    this.#forgetAllBut(queue);
    return { found, unseen };
  }

  #list(folder: string): Listing | "closed" | "gone" {
    const status = lstatSync(folder, { throwIfNoEntry: false });
    if (status?.isDirectory() !== true) return "gone";
    const { ino: inode, ctimeMs: changed } = status;
    const known = this.#listings.get(folder);
    const isSettled = known !== undefined && known.readAt - changed > settledMs;
    if (isSettled && known.inode === inode && known.changed === changed) return known;
    const readAt = Date.now();
    let entries: Dirent[];
    try {
      entries = readdirSync(folder, { withFileTypes: true });
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      return code === "ENOENT" || code === "ENOTDIR" ? "gone" : "closed";
    }
    const obeyed = entries.flatMap(({ name }) => (isObeyedName(name) ? [name] : []));
    const below = entries.filter((entry) => entry.isDirectory() && !isObeyedName(entry.name));
    const folders = below.flatMap(({ name }) => (name.includes("\ufffd") ? [] : [name]));
    const isOdd = folders.length < below.length;
    const listing = { inode, changed, readAt, folders, obeyed, isOdd };
    this.#listings.set(folder, listing);
    return listing;
  }

  #forgetAllBut(folders: readonly string[]): void {
    if (this.#listings.size <= folders.length) return;
    const current = new Set(folders);
    for (const folder of this.#listings.keys()) {
      if (!current.has(folder)) this.#listings.delete(folder);
    }
  }
}
