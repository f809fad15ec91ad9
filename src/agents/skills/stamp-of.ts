import { statSync } from "node:fs";

/** Tells whether a file or folder is what it was: equal stamps, nothing changed. */
export function stampOf(place: string): string {
  try {
    const { ctimeNs, ino, size } = statSync(place, { bigint: true });
    return `${ctimeNs} ${size} ${ino}`;
  } catch (error) {
    return String((error as NodeJS.ErrnoException).code);
  }
}
