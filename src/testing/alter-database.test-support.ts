import { DatabaseSync } from "node:sqlite";
import type { TestEngine } from "./engine-fixture.ts";
import { execute } from "./postgres.test-support.ts";

/** Whether the tests of this process run on Postgres: see `openEngine`. */
export const isOnPostgres = process.env["MANDATE_TEST_STORE"] === "postgres";

/** Whether their runs are spread over workers. */
export const isDistributed = process.env["MANDATE_TEST_ENGINE"] === "distributed";

/** Why a test is skipped there, for those who read the report. */
export const notOffered = {
  session: "the process of a session holds its root, and its children end with that process",
  ownership: "delegations of runs that are spread have owners, and not the runs: decision 032",
  order: "who is first is for the queue to say: decision 033",
  cancel: "a cancel goes through the log, and is not ahead of what is being written: decision 032",
  prompt: "every worker reads the prompt from the database, and refuses one that was changed",
  watching: "who starts a run that is spread works on it a moment later, or not at all",
  replay: "not yet: what several workers raced for, or took over, is not replayed in its order",
  tools: "a delegation whose tools no worker has waits for one that has them: decision 032",
  folder: "artifacts are rows of the database on Postgres, and no files",
} as const;

/**
 * Runs a statement on the stored rows behind the product's back, in whichever database the tests
 * run on; of the two dialects that of Postgres where it differs.
 */
export async function alterDatabase(
  engine: Pick<TestEngine, "config" | "database">,
  sql: string,
  onPostgres = sql,
): Promise<readonly Readonly<Record<string, unknown>>[]> {
  const { url } = engine.config.database;
  if (url !== undefined) {
    const place = new URL(url);
    place.searchParams.set("options", "-c search_path=mandate");
    return execute(place.href, onPostgres);
  }
  const database = new DatabaseSync(engine.database);
  try {
    return database.prepare(sql).all();
  } finally {
    database.close();
  }
}
