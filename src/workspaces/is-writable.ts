import { accessSync, constants } from "node:fs";
import { nearestRealPath } from "./nearest-real-path.ts";

/** Whether this process may write at a place, or create it: by its rights, and by its file system. */
export function isWritable(path: string): boolean {
  try {
    accessSync(nearestRealPath(path).existing, constants.W_OK);
    return true;
  } catch {
    return false;
  }
}
