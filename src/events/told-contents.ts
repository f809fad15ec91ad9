import { join } from "node:path";
import type { FileEvidence, StartedTool } from "./event.ts";

/**
 * The contents of one working copy, as far as the log tells them for certain. Only the delegations
 * that work in a copy change it, and those that are merged into it. What they do is in the log,
 * until one of them calls a tool that may change any file: a command may even run on in the
 * background.
 */
export class ToldContents {
  readonly #contents = new Map<string, string | null>();
  /** Calls that may be writing, and children that may be being merged, at this moment. */
  readonly #writers = new Map<string, { isClear: boolean }>();
  readonly #merging = new Map<string, { isClear: boolean }>();
  #isLost = false;

  beginCall(id: string, changes: StartedTool["changes"]): void {
    if (changes === "reported") this.#writers.set(id, { isClear: true });
    else if (changes !== "none") this.#isLost = true;
  }

  endCall(id: string, folder: string, files: readonly FileEvidence[]): void {
    this.#take(folder, files, isClear(id, this.#writers, this.#merging));
  }

  /** Its effect is unknown. */
  loseCall(id: string): void {
    isClear(id, this.#writers, this.#merging);
    this.forget();
  }

  beginMerge(child: string): void {
    this.#merging.set(child, { isClear: true });
  }

  /** Gives the first path that was not as the log had left it. */
  endMerge(child: string, folder: string, files: readonly FileEvidence[]): string | undefined {
    const isCertain = isClear(child, this.#merging, this.#writers);
    const wrong = files.find(({ path, before }) => {
      const known = this.#contents.get(join(folder, path));
      return isCertain && known !== undefined && known !== before;
    });
    this.#take(folder, files, isCertain);
    return this.#isLost ? undefined : wrong?.path;
  }

  forget(): void {
    this.#contents.clear();
  }

  #take(folder: string, files: readonly FileEvidence[], isCertain: boolean): void {
    if (this.#isLost) this.forget();
    for (const { path, after } of files) {
      if (isCertain && !this.#isLost) this.#contents.set(join(folder, path), after);
      else this.#contents.delete(join(folder, path));
    }
  }
}

type Ongoing = Map<string, { isClear: boolean }>;

/**
 * Ends something. A write and a merge at the same time: which of them changed a file first is not
 * told by which of them was written down first.
 */
function isClear(id: string, same: Ongoing, others: Ongoing): boolean {
  const ended = same.get(id);
  same.delete(id);
  for (const other of others.values()) other.isClear = false;
  return others.size === 0 && ended?.isClear !== false;
}
