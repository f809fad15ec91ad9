import {
  closeSync,
  fsyncSync,
  openSync,
  rmSync,
  statfsSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { dirname } from "node:path";
import type { Clock } from "../../ports/clock.ts";

const size = 1024 * 1024;
/** Before it is put back there has to be room for much more than itself, and for a while. */
const ample = 16 * size;
const quietMs = 10_000;

/**
 * Space kept back for the worst moment: when the disk is full this file is given up, so that the
 * ends of what was running can still be written. When there is room again it is put back, for the
 * next time: a server lives longer than one full disk.
 */
export class ReserveFile {
  readonly #path: string | null;
  readonly #clock: Clock;
  /** When to look next, on a clock that cannot jump; infinite: there is nothing to do. */
  #lookAt = 0;

  constructor(path: string | null, clock: Clock) {
    this.#path = path;
    this.#clock = clock;
  }

  /** Called before every write; nearly always there is nothing to do. */
  ensure(): void {
    if (this.#path === null || this.#clock.monotonic() < this.#lookAt) return;
    const wasGivenUp = this.#lookAt > 0;
    // Not into the room that it has just made for others.
    if (wasGivenUp && !hasAmpleRoom(this.#path)) {
      this.#lookAt = this.#clock.monotonic() + quietMs;
      return;
    }
    this.#lookAt = Number.POSITIVE_INFINITY;
    if (statSync(this.#path, { throwIfNoEntry: false })?.size === size) return;
    try {
      const file = openSync(this.#path, "w", 0o600);
      try {
        // All of it or an error: a write by itself may end early.
        writeFileSync(file, Buffer.alloc(size));
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
    if (this.#path === null) return;
    this.#lookAt = this.#clock.monotonic() + quietMs;
    rmSync(this.#path, { force: true });
  }
}

function hasAmpleRoom(path: string): boolean {
  try {
    const { bavail, bsize } = statfsSync(dirname(path));
    return bavail * bsize >= ample;
  } catch {
    return false;
  }
}
