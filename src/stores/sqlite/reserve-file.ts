import { closeSync, fsyncSync, openSync, rmSync, statSync, writeSync } from "node:fs";

const size = 1024 * 1024;

/**
 * Space kept back for the worst moment: when the disk is full this file is given up, so that the
 * ends of what was running can still be written.
 */
export class ReserveFile {
  readonly #path: string | null;
  #checked = false;

  constructor(path: string | null) {
    this.#path = path;
  }

  /** Called before the first write of a process; nothing to do when the file is there. */
  ensure(): void {
    if (this.#checked || this.#path === null) return;
    this.#checked = true;
    if (statSync(this.#path, { throwIfNoEntry: false })?.size === size) return;
    try {
      const file = openSync(this.#path, "w", 0o600);
      try {
        writeSync(file, Buffer.alloc(size));
        fsyncSync(file);
      } finally {
        closeSync(file);
      }
    } catch {
      // No room for a reserve is no reason not to start.
      rmSync(this.#path, { force: true });
    }
  }

  giveUp(): void {
    if (this.#path !== null) rmSync(this.#path, { force: true });
  }
}
