import { existsSync } from "node:fs";
import { join } from "node:path";
import { MandateError } from "../ports/mandate-error.ts";
import type { Store } from "../ports/store.ts";
import { SqliteStore } from "../stores/sqlite/sqlite-store.ts";

/**
 * Opens the database of a home, or of a copy of one that tests keep, to read recorded runs from it:
 * `mandate.db`, and `artifacts` beside it.
 */
export function openRecordedStore(home: string): Store {
  const path = join(home, "mandate.db");
  if (!existsSync(path)) {
    throw new MandateError("database-unusable", `There is no recording at ${path}.`);
  }
  return new SqliteStore({ path, synchronous: "normal", artifacts: join(home, "artifacts") });
}
