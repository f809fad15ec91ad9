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
/** Recreating the reserve needs much more free space than its own size, and a pause. */
const ample = 16 * size;
const quietMs = 10_000;

/**
 * Reserved space for a full disk: when the disk is full, this file is deleted so that running
 * delegations can still write their final events. It is recreated when there is space again,
 * because a server can meet more than one full disk.
 */
export class ReserveFile {
  readonly #path: string | null;
  readonly #clock: Clock;
  /** When to check next, on the monotonic clock; infinite: there is nothing to do. */
  #lookAt = 0;

  constructor(path: string | null, clock: Clock) {
    this.#path = path;
    this.#clock = clock;
  }

  /** Called before every write; nearly always there is nothing to do. */
  ensure(): void {
    if (this.#path === null || this.#clock.monotonic() < this.#lookAt) return;
    const wasGivenUp = this.#lookAt > 0;
    // The space that was just freed is for others.
    if (wasGivenUp && !hasAmpleRoom(this.#path)) {
      this.#lookAt = this.#clock.monotonic() + quietMs;
      return;
    }
    this.#lookAt = Number.POSITIVE_INFINITY;
    if (statSync(this.#path, { throwIfNoEntry: false })?.size === size) return;
    try {
      const file = openSync(this.#path, "w", 0o600);
      try {
        // All of it or an error: a single write may be partial.
        writeFileSync(file, Buffer.alloc(size));
        fsyncSync(file);
      } finally {
        closeSync(file);
      }
    } catch {
      // A full disk must not prevent the start.
      rmSync(this.#path, { force: true });
    }
  }

  release(): void {
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
