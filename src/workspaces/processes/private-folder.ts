import { mkdirSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { agentFolderAround } from "./agent-folders.ts";
import { startOfProcess } from "./process-start.ts";

/** An empty folder that only this user can enter. */
export interface PrivateFolder {
  readonly path: string;
  remove(): void;
}

const cleaned = new Set<string>();

/**
 * Creates an empty folder for a program to start in, below `preferred` unless an agent can write
 * there or above. Programs also search the parent folders for settings: npm stops at the package
 * file beside it, and for other programs no parent may be writable by an agent.
 */
export function createPrivateFolder(preferred: string): PrivateFolder {
  const base = baseOutside(preferred);
  if (!cleaned.has(base)) removeLeftovers(base);
  cleaned.add(base);
  const owner = `${process.pid}.${startOfProcess(process.pid) ?? "0"}.`;
  const path = mkdtempSync(join(base, owner));
  return { path, remove: () => removeQuietly(path) };
}

function baseOutside(preferred: string): string {
  const uid = process.getuid?.() ?? "user";
  // In a folder that other users can write, the name must be unpredictable.
  const others = [`/run/user/${uid}`, tmpdir(), "/var/tmp", "/dev/shm"];
  if (agentFolderAround(preferred) === undefined) return prepare(preferred);
  const folder = others.find((each) => isFolder(each) && agentFolderAround(each) === undefined);
  if (folder === undefined) {
    throw new Error(
      `no folder was found to start it in: agents can write in or around "${preferred}" and ` +
        `${others.join(", ")}. Choose a smaller workspace`,
    );
  }
  elsewhere ??= prepare(mkdtempSync(join(folder, "mandate-")));
  return elsewhere;
}

let elsewhere: string | undefined;

function prepare(base: string): string {
  mkdirSync(base, { recursive: true, mode: 0o700 });
  const marker = join(base, "package.json");
  if (statSync(marker, { throwIfNoEntry: false }) === undefined) {
    writeFileSync(marker, '{ "private": true }\n', { mode: 0o600 });
  }
  return base;
}

/** Removes folders of processes that were killed. */
function removeLeftovers(base: string): void {
  for (const name of readdirSync(base)) {
    const [, pid, start] = /^(\d+)\.([^.]*)\./.exec(name) ?? [];
    if (pid !== undefined && startOfProcess(Number(pid)) !== start) removeQuietly(join(base, name));
  }
}

/** A folder that cannot be removed is removed at a later start. */
function removeQuietly(path: string): void {
  try {
    rmSync(path, { recursive: true, force: true });
  } catch {
    // The program may have created files that this process cannot remove.
  }
}

function isFolder(path: string): boolean {
  return (
    dirname(path) !== path && statSync(path, { throwIfNoEntry: false })?.isDirectory() === true
  );
}
