import { readFileSync } from "node:fs";
import { join } from "node:path";

export interface InstalledPackage {
  /** Where it lies: `node_modules/zod`. */
  readonly path: string;
  readonly name: string;
  readonly version: string;
  readonly license: string | undefined;
}

interface LockedPackage {
  readonly name?: string;
  readonly version?: string;
  readonly license?: string;
  readonly dev?: boolean;
  readonly peer?: boolean;
  readonly link?: boolean;
}

/** What a default install brings, by the lockfile: optional dependencies, and no optional peers. */
export function productionTree(root: string): readonly InstalledPackage[] {
  const { packages } = JSON.parse(readFileSync(join(root, "package-lock.json"), "utf8"));
  return Object.entries(packages as Record<string, LockedPackage>)
    .filter(([path, { dev, link, peer }]) => {
      return path.startsWith("node_modules/") && !dev && !link && !peer;
    })
    .map(([path, { name, version = "", license }]) => ({
      path,
      name: name ?? path.slice(path.lastIndexOf("node_modules/") + "node_modules/".length),
      version,
      license,
    }));
}
