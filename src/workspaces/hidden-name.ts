import { findHidden } from "../ports/visible-text.ts";

/** Whether a name holds a control character or a bidirectional control, and so steers a terminal. */
export function steersTerminal(name: string): boolean {
  return /[\p{Cc}\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/u.test(name);
}

/** Whether a path holds a character that a person cannot see, a tab or a line end included. */
export function hidesInName(path: string): boolean {
  return findHidden(path) !== undefined || /[\t\n]/.test(path);
}
