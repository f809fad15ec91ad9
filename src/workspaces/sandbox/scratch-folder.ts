import { chmodSync, mkdirSync, mkdtempSync, realpathSync, writeFileSync } from "node:fs";
import { chmod, lstat, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

const prefix = "mandate-shell-";
const staleMs = 24 * 60 * 60 * 1000;

/**
 * The /tmp and the home of a sandbox: the commands of one delegation share them, an MCP server and an
 * agent program have their own. The outer folder is closed to other users: what is inside may be
 * anything, programs that change their user included.
 */
export function createScratchFolder(): string {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), `${prefix}${process.pid}-`)));
  fillScratchFolder(folder);
  return folder;
}

/** Makes a scratch folder at a place that outlives this process, or is there already. */
export function fillScratchFolder(folder: string): void {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  for (const name of ["tmp", "home"]) mkdirSync(join(folder, name), { recursive: true });
  chmodSync(join(folder, "tmp"), 0o1777);
  // Weaker than what a repository says; without it nothing could be committed in a new one.
  const identity = "[user]\n\tname = Mandate agent\n\temail = agent@mandate.invalid\n";
  writeFileSync(join(folder, "home", ".gitconfig"), identity);
}

/** Once nothing runs in it any more. Links are removed and not followed. */
export async function removeScratchFolder(folder: string): Promise<void> {
  try {
    await rm(folder, { recursive: true, force: true });
  } catch {
    // Folders that were closed to their owner as well.
    await openFolders(folder);
    await rm(folder, { recursive: true, force: true }).catch(() => undefined);
  }
}

/** What processes left that were killed: ours by owner and name, a day old, its maker gone. */
export async function removeStaleScratchFolders(now: number): Promise<void> {
  for (const name of await readdir(tmpdir()).catch(() => [])) {
    const maker = new RegExp(`^${prefix}(\\d+)-`).exec(name)?.[1];
    if (maker === undefined || isAlive(Number(maker))) continue;
    const folder = join(tmpdir(), name);
    const status = await lstat(folder).catch(() => undefined);
    const isOurs = status?.isDirectory() === true && status.uid === process.getuid?.();
    if (isOurs && now - status.mtimeMs > staleMs) await removeScratchFolder(folder);
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return error instanceof Error && "code" in error && error.code === "EPERM";
  }
}

async function openFolders(folder: string): Promise<void> {
  await chmod(folder, 0o700).catch(() => undefined);
  const entries = await readdir(folder, { withFileTypes: true }).catch(() => []);
  for (const entry of entries) {
    if (entry.isDirectory()) await openFolders(join(folder, entry.name));
  }
}
