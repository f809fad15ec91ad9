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

const throughDescriptors = process.platform === "linux" && existsSync("/proc/self/fd");
const flags = constants.O_RDONLY | (constants.O_DIRECTORY ?? 0) | (constants.O_NOFOLLOW ?? 0);

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
  // Taken away in one step: from here on nobody finds it under the name they know.
  const doomed = join(real, `.removing-${basename(name)}-${randomBytes(4).toString("hex")}`);
  renameSync(place, doomed);
  await empty(doomed, doomed, stats.dev);
  rmdirSync(doomed);
}

async function empty(path: string, location: string, device: number): Promise<void> {
  let descriptor: number;
  try {
    descriptor = openSync(path, flags);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EACCES") throw error;
    chmodSync(path, 0o700);
    descriptor = openSync(path, flags);
  }
  try {
    requireSame(descriptor, location, device);
    const here = throughDescriptors ? `/proc/self/fd/${descriptor}` : path;
    chmodSync(here, 0o700);
    for (const entry of readdirSync(here, { withFileTypes: true, encoding: "buffer" })) {
      const place = Buffer.concat([Buffer.from(`${here}/`), entry.name]);
      if (!entry.isDirectory()) {
        unlinkSync(place);
        continue;
      }
      await empty(place.toString("latin1"), join(location, entry.name.toString("latin1")), device);
      rmdirSync(place);
    }
  } finally {
    closeSync(descriptor);
  }
  await yieldToOthers();
}

function requireSame(descriptor: number, location: string, device: number): void {
  const stays = fstatSync(descriptor).dev === device;
  const isThere = !throughDescriptors || readlinkSync(`/proc/self/fd/${descriptor}`) === location;
  if (stays && isThere) return;
  throw new MandateError(
    "refused-by-policy",
    `"${location}" is a mount point or was moved while it was being removed. It has been left as it is.`,
  );
}
