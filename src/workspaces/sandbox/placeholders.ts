import { rmdirSync } from "node:fs";
import { isBelow } from "../../contracts/write-roots.ts";
import { makeFolder } from "../../files.ts";

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
