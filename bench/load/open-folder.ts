import { mkdtempSync, realpathSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** A folder of one's own; whoever opened it removes it. */
export function openFolder(name: string): string {
  return realpathSync(mkdtempSync(join(tmpdir(), `mandate-load-${name}-`)));
}
