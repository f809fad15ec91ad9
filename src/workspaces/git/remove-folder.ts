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
import { identifyThisProcess, isProcessAlive } from "../processes/process-start.ts";

const throughDescriptors = process.platform === "linux" && existsSync("/proc/self/fd");
const flags = constants.O_RDONLY | (constants.O_DIRECTORY ?? 0) | (constants.O_NOFOLLOW ?? 0);
const doomedPrefix = ".removing-";

/** Whether a living process is removing the folder of this name. */
export function isBeingRemoved(name: string): boolean {
  return name.startsWith(doomedPrefix) && isProcessAlive(name.split(".").slice(-4).join("."));
}

/** The remains of folders with this name, or one that begins with it, whose removal was interrupted. */
export function remainsOf(parent: string, name: string): readonly string[] {
  return readdirSync(parent).filter((each) => each.startsWith(`${doomedPrefix}${name}-`));
}

/**
 * Removes a folder of `parent` with its contents, and nothing else: a link is removed as a link,
 * another file system is not entered, and where the system allows, each step uses the descriptor of
 * the opened folder, since a path could lead elsewhere by then. A missing folder is no error.
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
  // A half-removed folder keeps its name: a longer name each time would exceed the limit.
  const doomed = name.startsWith(doomedPrefix)
    ? place
    : join(real, `${doomedPrefix}${name}-${mark}.${identifyThisProcess()}`);
  // Renamed in one step: from here on no process finds the folder under its known name.
  if (doomed !== place && !moveAway(place, doomed)) return;
  await empty(doomed, stats.dev, mark);
  rmdirSync(doomed);
}

/** False: another process has renamed the folder already. */
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
 * Folders below are moved to the top, under unpredictable names, before they are emptied. So the
 * depth and the path length that hostile contents have do not matter.
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

/** A folder without write permission cannot be moved; `unlocked` grants the permission first. */
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
