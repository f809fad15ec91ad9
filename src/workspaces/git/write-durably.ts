import { closeSync, fsyncSync, mkdirSync, openSync, renameSync, writeSync } from "node:fs";
import { dirname } from "node:path";

/** Whole or not at all, and still there after a power cut once this returns. */
export function writeDurably(path: string, text: string): void {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  const temporary = `${path}.new`;
  const descriptor = openSync(temporary, "w", 0o600);
  try {
    writeSync(descriptor, text);
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
  renameSync(temporary, path);
  syncFolder(dirname(path));
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
