import { readdirSync, rmSync } from "node:fs";
import { join } from "node:path";

/** The files that a repository's own contents lie in. */
export function listStoredObjects(gitDirectory: string): ReadonlySet<string> {
  const folder = join(gitDirectory, "objects");
  return new Set(readdirSync(folder, { recursive: true, encoding: "utf8" }));
}

/**
 * Takes away what was stored since. What git read by mistake is in no tree, but a child can read
 * the folder that its contents lie in.
 */
export function forgetObjectsSince(gitDirectory: string, before: ReadonlySet<string>): void {
  const folder = join(gitDirectory, "objects");
  for (const name of listStoredObjects(gitDirectory)) {
    if (!before.has(name)) rmSync(join(folder, name), { recursive: true, force: true });
  }
}
