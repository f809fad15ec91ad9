import { realpathSync } from "node:fs";
import { basename, dirname, join } from "node:path";

/**
 * What the next start of Mandate executes: the Node that runs it, its own code, and every folder in
 * which it looks for packages, there or not. In a clone of Mandate, or in a project that depends on
 * it, these lie inside the workspace: agents can read them, and not write them.
 */
export function installationPaths(): readonly string[] {
  // This file is <package>/src/workspaces/processes/… or <package>/dist/workspaces/processes/….
  const code = dirname(dirname(import.meta.dirname));
  const packages: string[] = [];
  for (let at = dirname(code); at !== dirname(at); at = dirname(at)) {
    const place = basename(at) === "node_modules" ? at : join(at, "node_modules");
    if (!packages.includes(place)) packages.push(place);
  }
  return [realOrSame(process.execPath), code, ...packages];
}

function realOrSame(file: string): string {
  try {
    return realpathSync.native(file);
  } catch {
    return file;
  }
}
