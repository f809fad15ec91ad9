import { closeSync, constants, existsSync, openSync, readlinkSync, realpathSync } from "node:fs";
import { setImmediate as yieldToOthers } from "node:timers/promises";
import { isEntry, lookAtFile } from "../look-at-file.ts";
import type { ObjectFormat, TrackedEntry } from "../place.ts";
import { type RawPath, rawPlace } from "../raw-path.ts";

const throughDescriptors = process.platform === "linux" && existsSync("/proc/self/fd");
const flags = constants.O_RDONLY | (constants.O_DIRECTORY ?? 0) | (constants.O_NOFOLLOW ?? 0);

/**
 * Git opens files by their paths. While it reads, whoever else works in the place can put a link
 * where a file or a folder was, and what lies anywhere on the machine would be in the snapshot. So
 * each content counts only if the file itself, reached without any link, has it as well: what is
 * not known cannot be imitated. Gives back the paths that do not hold.
 */
export async function verifyCapture(
  toplevel: string,
  entries: readonly TrackedEntry[],
  format: ObjectFormat,
): Promise<readonly RawPath[]> {
  const byFolder = new Map<RawPath, TrackedEntry[]>();
  for (const entry of entries) {
    const folder = entry.path.slice(0, Math.max(0, entry.path.lastIndexOf("/")));
    const known = byFolder.get(folder);
    if (known === undefined) byFolder.set(folder, [entry]);
    else known.push(entry);
  }
  const unlike: RawPath[] = [];
  for (const [folder, inside] of byFolder) {
    const place = folder === "" ? Buffer.from(toplevel) : rawPlace(toplevel, folder);
    unlike.push(...(await verifyFolder(place, inside, format)));
  }
  return unlike;
}

async function verifyFolder(
  place: Buffer,
  entries: readonly TrackedEntry[],
  format: ObjectFormat,
): Promise<readonly RawPath[]> {
  let descriptor: number;
  try {
    descriptor = openSync(place, flags);
  } catch {
    return entries.map(({ path }) => path);
  }
  try {
    if (!isAt(descriptor, place)) return entries.map(({ path }) => path);
    const here = throughDescriptors ? `/proc/self/fd/${descriptor}` : place.toString();
    const unlike: RawPath[] = [];
    for (const [index, { path, ...entry }] of entries.entries()) {
      if (index % 200 === 199) await yieldToOthers();
      const file = rawPlace(here, path.slice(path.lastIndexOf("/") + 1));
      const seen = await lookAtFile(file, format).catch(() => undefined);
      if (seen === undefined || !isEntry(seen, entry)) unlike.push(path);
    }
    return unlike;
  } finally {
    closeSync(descriptor);
  }
}

/** A folder that was reached through a link is somewhere else. */
function isAt(descriptor: number, place: Buffer): boolean {
  if (!throughDescriptors) return realpathSync.native(place, { encoding: "buffer" }).equals(place);
  return readlinkSync(`/proc/self/fd/${descriptor}`, { encoding: "buffer" }).equals(place);
}
