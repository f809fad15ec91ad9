import { statSync } from "node:fs";
import { resolve } from "node:path";
import { MandateError } from "../../ports/mandate-error.ts";
import type { Arguments } from "./arguments.ts";
import type { Io } from "./io.ts";

/** The folder that a run is about: the one that was named, or where it was typed. */
export function findFolder(given: Arguments, io: Io): string {
  const path = resolve(io.cwd, given.text("workspace") ?? ".");
  const stats = statSync(path, { throwIfNoEntry: false });
  if (stats?.isDirectory()) return path;
  const problem = stats === undefined ? "does not exist" : "is not a folder";
  throw new MandateError("usage", `The workspace ${path} ${problem}.`);
}
