import { randomBytes } from "node:crypto";
import { mkdir, open, rename, rm } from "node:fs/promises";
import { dirname } from "node:path";

/** Whole or not at all, and still there after a power cut once it resolves. */
export async function writeDurably(path: string, body: string): Promise<void> {
  const folder = dirname(path);
  const made = await mkdir(folder, { recursive: true, mode: 0o700 });
  const temporary = `${path}.${process.pid}.${randomBytes(6).toString("hex")}`;
  try {
    const file = await open(temporary, "wx", 0o600);
    try {
      await file.writeFile(body);
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(temporary, path);
  } catch (error) {
    await rm(temporary, { force: true }).catch(() => undefined);
    throw error;
  }
  // A file is named in its folder, and a new folder in the one above.
  await syncFolder(folder);
  if (made !== undefined) await syncFolder(dirname(folder));
}

/** What somebody leaves who is killed on the way. */
export function isTemporary(name: string): boolean {
  return /\.[0-9]+\.[0-9a-z]+$/.test(name);
}

/** Not every platform opens folders, and not every file system can sync one. */
const notOffered: ReadonlySet<unknown> = new Set(["EISDIR", "EACCES", "EPERM", "EINVAL"]);

async function syncFolder(path: string): Promise<void> {
  try {
    const folder = await open(path, "r");
    try {
      await folder.sync();
    } finally {
      await folder.close();
    }
  } catch (error) {
    if (!notOffered.has((error as NodeJS.ErrnoException).code)) throw error;
  }
}
