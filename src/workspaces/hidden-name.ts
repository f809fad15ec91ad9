import { findHidden } from "../ports/visible-text.ts";

/** Whether a path holds a character that a person cannot see, a tab or a line end included. */
export function hidesInName(path: string): boolean {
  return findHidden(path) !== undefined || /[\t\n]/.test(path);
}
