import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { expect, it, onTestFinished } from "vitest";
import { testFolder } from "../../testing/test-folder.test-support.ts";
import { RunIndex } from "./batch-rows.ts";
import { openDatabase } from "./open-database.ts";

it("an index that cannot be brought up to date, because another process holds the lock, is left", () => {
  const path = join(testFolder(), "mandate.db");
  const database = openDatabase({ path, synchronous: "normal" });
  const beside = new DatabaseSync(path);
  onTestFinished(() => {
    for (const one of [database, beside]) one.close();
  });
  // Nobody waits for the one that was stopped in the middle of a transaction.
  database.exec("PRAGMA busy_timeout = 0");
  beside.exec("BEGIN IMMEDIATE");
  const index = new RunIndex(database);
  index.keepUp(5000);
  expect(index.indexedThrough()).toBe(0);
  beside.exec("ROLLBACK");
  // Not with each commit, and not never.
  index.keepUp(5001);
  expect(index.indexedThrough()).toBe(0);
  index.keepUp(7001);
  expect(index.indexedThrough()).toBe(7001);
});
