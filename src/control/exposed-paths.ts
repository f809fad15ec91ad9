import { readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import type { Places } from "./places.ts";

/** Something of Mandate's own data that other users of this machine can reach. */
export interface ExposedPath {
  readonly path: string;
  /** Octal: "0755". */
  readonly mode: string;
  /** The command that closes it. */
  readonly fix: string;
}

/**
 * The home, if group or others may do anything in it, and what they can then reach in it. New homes
 * are made for their user alone; one that exists keeps its mode, and this says so.
 */
export function exposedPaths({
  home,
  tokens,
}: Pick<Places, "home" | "tokens">): readonly ExposedPath[] {
  if (process.platform === "win32") return [];
  const outer = exposureOf(home);
  if (outer === undefined) return [];
  const inside = [...entriesOf(home), ...entriesOf(tokens)].flatMap(
    (path) => exposureOf(path) ?? [],
  );
  return [outer, ...inside];
}

function exposureOf(path: string): ExposedPath | undefined {
  const stats = statSync(path, { throwIfNoEntry: false });
  if (stats === undefined || (stats.mode & 0o077) === 0) return undefined;
  const mode = (stats.mode & 0o777).toString(8).padStart(4, "0");
  const fix = `chmod ${stats.isDirectory() ? "700" : "600"} ${JSON.stringify(path)}`;
  return { path, mode, fix };
}

function entriesOf(folder: string): readonly string[] {
  try {
    return readdirSync(folder).map((name) => join(folder, name));
  } catch {
    // It is missing, or closed to us as well.
    return [];
  }
}
