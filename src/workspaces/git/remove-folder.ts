import { randomBytes } from "node:crypto";
import {
  chmodSync,
  closeSync,
  constants,
  existsSync,
  fstatSync,
  lstatSync,
  openSync,
  readdirSync,
  readlinkSync,
  realpathSync,
  renameSync,
  rmdirSync,
  unlinkSync,
} from "node:fs";
import { basename, join } from "node:path";
import { setImmediate as yieldToOthers } from "node:timers/promises";
import { MandateError } from "../../ports/mandate-error.ts";
import { identifyThisProcess, isProcessAlive } from "../../processes/process-start.ts";

const throughDescriptors = process.platform === "linux" && existsSync("/proc/self/fd");
const flags = constants.O_RDONLY | (constants.O_DIRECTORY ?? 0) | (constants.O_NOFOLLOW ?? 0);
const doomedPrefix = ".removing-";

/** Whether a process that is still there is removing what bears this name. */
export function isBeingRemoved(name: string): boolean {
  return name.startsWith(doomedPrefix) && isProcessAlive(name.split(".").slice(-4).join("."));
}

/** What is left of a folder that was being removed when its remover ended, and of similar names. */
export function remainsOf(parent: string, name: string): readonly string[] {
  return readdirSync(parent).filter((each) => each.startsWith(`${doomedPrefix}${name}-`));
}

/**
 * Removes a folder and what lies in it, and nothing else: `parent` says whose entry it must be, a
 * link is removed as a link, another file system is not entered, and where the system allows, each
 * step goes through the folder that was opened, not through a path that could lead elsewhere by
 * then. Gone already is fine.
 */
export async function removeFolder(parent: string, name: string): Promise<void> {
  if (basename(name) !== name || name === "." || name === "..") {
    throw new MandateError("usage", `"${name}" is no name of a folder to remove.`);
  }
  const real = realpathSync.native(parent);
  const place = join(real, name);
  const stats = lstatSync(place, { throwIfNoEntry: false });
  if (stats === undefined) return;
  if (!stats.isDirectory()) return unlinkSync(place);
  const mark = randomBytes(6).toString("hex");
  // What a crash left half removed keeps its name: one that grew each time would not fit one day.
  const doomed = name.startsWith(doomedPrefix)
    ? place
    : join(real, `${doomedPrefix}${name}-${mark}.${identifyThisProcess()}`);
  // Taken away in one step: from here on nobody finds it under the name they know.
  if (doomed !== place && !moveAway(place, doomed)) return;
  await empty(doomed, stats.dev, mark);
  rmdirSync(doomed);
}

/** False: somebody else has taken it away. */
function moveAway(place: string, doomed: string): boolean {
  try {
    renameSync(place, doomed);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return false;
    throw error;
  }
}

/**
 * Folders below are moved up before they are emptied, under names that nobody could have given
 * away: so neither their depth nor the length of their paths matters, and both are whoever's who
 * filled them.
 */
async function empty(doomed: string, device: number, mark: string): Promise<void> {
  const top = open(Buffer.from(doomed), Buffer.from(doomed), device);
  try {
    const waiting: Buffer[] = [];
    emptyOne(top.here, (entry) => waiting.push(entry));
    let moved = 0;
    for (let name = waiting.pop(); name !== undefined; name = waiting.pop()) {
      const place = below(top.here, name);
      const folder = open(place, below(Buffer.from(doomed), name), device);
      try {
        emptyOne(folder.here, (entry) => {
          const fresh = Buffer.from(`${mark}-${moved++}`);
          move(below(folder.here, entry), below(top.here, fresh));
          waiting.push(fresh);
        });
      } finally {
        closeSync(folder.descriptor);
      }
      rmdirSync(place);
      await yieldToOthers();
    }
  } finally {
    closeSync(top.descriptor);
  }
}

function emptyOne(here: Buffer, onFolder: (name: Buffer) => void): void {
  for (const entry of readdirSync(here, { withFileTypes: true, encoding: "buffer" })) {
    if (entry.isDirectory()) onFolder(entry.name);
    else unlinkSync(below(here, entry.name));
  }
}

interface OpenedFolder {
  readonly descriptor: number;
  readonly here: Buffer;
}

function open(path: Buffer, location: Buffer, device: number): OpenedFolder {
  const descriptor = unlocked(path, () => openSync(path, flags));
  try {
    requireSame(descriptor, location, device);
    const here = throughDescriptors ? Buffer.from(`/proc/self/fd/${descriptor}`) : path;
    chmodSync(here, 0o700);
    return { descriptor, here };
  } catch (error) {
    closeSync(descriptor);
    throw error;
  }
}

/** A folder that is closed to its owner cannot be moved elsewhere either. */
function move(from: Buffer, to: Buffer): void {
  unlocked(from, () => renameSync(from, to));
}

function unlocked<Result>(folder: Buffer, act: () => Result): Result {
  try {
    return act();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EACCES") throw error;
    chmodSync(folder, 0o700);
    return act();
  }
}

function below(folder: Buffer, name: Buffer): Buffer {
  return Buffer.concat([folder, Buffer.from("/"), name]);
}

function requireSame(descriptor: number, location: Buffer, device: number): void {
  const stays = fstatSync(descriptor).dev === device;
  const link = `/proc/self/fd/${descriptor}`;
  const isThere =
    !throughDescriptors || readlinkSync(link, { encoding: "buffer" }).equals(location);
  if (stays && isThere) return;
  throw new MandateError(
    "refused-by-policy",
    `"${location.toString()}" is a mount point or was moved while it was being removed. It has been left as it is.`,
  );
}
