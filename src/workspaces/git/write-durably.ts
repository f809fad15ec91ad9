import {
  closeSync,
  fsyncSync,
  mkdirSync,
  openSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { dirname } from "node:path";

/** Whole or not at all, and still there after a power cut once this returns. */
export function writeDurably(path: string, text: string): void {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  const temporary = `${path}.new`;
  try {
    writeSynced(temporary, text);
    renameSync(temporary, path);
  } catch (error) {
    rmSync(temporary, { force: true });
    throw error;
  }
  syncFolder(dirname(path));
}

function writeSynced(path: string, text: string): void {
  const descriptor = openSync(path, "w", 0o600);
  try {
    // Goes on where a disk that fills up took only a part, until it takes all or says no.
    writeFileSync(descriptor, text);
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}

/** The names in a folder are durable once it is. Not every platform can sync one. */
export function syncFolder(path: string): void {
  let descriptor: number;
  try {
    descriptor = openSync(path, "r");
  } catch {
    return;
  }
  try {
    fsyncSync(descriptor);
  } catch {
    // The rename stands either way; only its durability is the file system's own matter.
  } finally {
    closeSync(descriptor);
  }
}
