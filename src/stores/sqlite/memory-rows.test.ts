import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { expect, onTestFinished, test } from "vitest";
import { systemClock } from "../../ports/clock.ts";
import type { MemoryStore } from "../../ports/memory-store.ts";
import { StoredRun } from "../../testing/stored-run.ts";
import { testFolder } from "../../testing/test-folder.test-support.ts";
import { openMemories } from "./memory-rows.ts";
import { openDatabase } from "./open-database.ts";
import { SqliteStore } from "./sqlite-store.ts";

/** A database with these texts, and its file. */
async function keep(texts: readonly string[]): Promise<{ path: string; memories: MemoryStore }> {
  const path = join(testFolder(), "mandate.db");
  const store = new SqliteStore({ path, synchronous: "normal", artifacts: null });
  onTestFinished(() => store.close());
  const run = await StoredRun.start(store);
  const delegationId = await run.child();
  const about = { runId: run.id, delegationId, lineage: [delegationId], profile: "tester" };
  for (const [index, text] of texts.entries()) {
    const more = { tags: [], key: null, scope: "shared", workspace: null } as const;
    await store.memories.save({ ...about, ...more, text, callId: `c${index}` }, 100_000);
  }
  return { path, memories: store.memories };
}

/** Opens the database as a SQLite without full text search would. */
function withoutFullText(path: string): MemoryStore {
  const database = openDatabase({ path, synchronous: "normal" });
  onTestFinished(() => database.close());
  const catchUp = (): void => undefined;
  const claimerOf = (): undefined => undefined;
  return openMemories({
    database,
    clock: systemClock,
    worker: "",
    catchUp,
    fullText: false,
    claimerOf,
  });
}

const found = async (memories: MemoryStore, text: string): Promise<readonly string[]> =>
  (await memories.find({ text, limit: 100 })).map((memory) => memory.text).toSorted();

test("without full text search the same words are found in the same texts", async () => {
  const texts = ["The Cache is cold", "caches everywhere", "nothing", "one%two", "a_b", "a\\b"];
  const { memories, path } = await keep(texts);
  const plain = withoutFullText(path);
  for (const query of ["cache", "CACHE nothing", "cold", "absent", "%", "_", "one two"]) {
    expect(await found(plain, query)).toEqual(await found(memories, query));
  }
  expect(await found(plain, "cache")).toEqual(["The Cache is cold", "caches everywhere"]);
});

test("what another process saved, or an index that was lost, is caught up with", async () => {
  const { memories, path } = await keep(["alpha one", "alpha two"]);
  expect(await found(memories, "alpha")).toHaveLength(2);
  const other = new DatabaseSync(path);
  other.exec("INSERT INTO memory_words (memory_words) VALUES ('delete-all')");
  other.close();
  expect(await found(memories, "alpha")).toEqual(["alpha one", "alpha two"]);
});

test("a broken index only makes searching slower", async () => {
  const { memories, path } = await keep(["alpha one", "beta"]);
  expect(await found(memories, "alpha")).toHaveLength(1);
  const other = new DatabaseSync(path);
  other.exec("DROP TABLE memory_words");
  other.close();
  expect(await found(memories, "alpha")).toEqual(["alpha one"]);
});
