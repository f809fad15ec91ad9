import { copyFileSync, statSync, utimesSync } from "node:fs";

/**
 * Copies an index with its time. Git compares whole seconds, and looks at a file again whose time
 * is not before the index's own: in a copy that seemed younger than it is, an edit of the same
 * length, made in the second in which the index was written, would never be seen.
 */
export function copyIndex(from: string, to: string): void {
  const seconds = Math.floor(statSync(from).mtimeMs / 1000);
  copyFileSync(from, to);
  utimesSync(to, seconds, seconds);
}
