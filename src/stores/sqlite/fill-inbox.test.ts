import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { beforeEach, describe, expect, it } from "vitest";
import { checkStore } from "../../events/checker/check-store.ts";
import type { InboxItem } from "../../events/inbox-item.ts";
import { about, note, StoredRun } from "../../testing/stored-run.ts";
import { testFolder } from "../../testing/test-folder.test-support.ts";
import { migrations } from "./migrations.ts";
import { SqliteStore } from "./sqlite-store.ts";

let now: string;
let old: string;

beforeEach(() => {
  const folder = testFolder();
  [now, old] = [join(folder, "now.db"), join(folder, "old.db")];
});

const open = (path: string) => new SqliteStore({ path, synchronous: "normal", artifacts: null });

async function live(store: SqliteStore): Promise<void> {
  const run = await StoredRun.start(store);
  const id = await run.child();
  for (const answer of ["yes", null]) {
    const askId = store.newAskId();
    const asked = { ask_id: askId, call_id: askId, question: "?", deadline_at: 9, default: null };
    await run.append(about(id, "agent.asked", asked), note(id, "meanwhile"));
    if (answer === null) continue;
    await run.append(about(id, "agent.answered", { ask_id: askId, answer, by: "person" }));
  }
}

/** Rewrites the database as it was before the inbox existed, with the same log. */
function makeOld(): void {
  const database = new DatabaseSync(old);
  const version = migrations.findIndex((step) => step.includes("CREATE TABLE inbox"));
  database.exec(
    "PRAGMA journal_mode = WAL; CREATE TABLE meta (key TEXT PRIMARY KEY, value INTEGER)",
  );
  for (const step of migrations.slice(0, version)) database.exec(step);
  database.prepare("ATTACH ? AS now").run(now);
  for (const table of ["event_batches", "run_index", "runs", "sub_agents", "asks"]) {
    const columns = database.prepare("SELECT name FROM pragma_table_info(?)").all(table);
    const names = columns.map(({ name }) => name).join(", ");
    database.exec(`INSERT INTO main.${table} SELECT ${names} FROM now.${table}`);
  }
  database.exec("INSERT INTO main.meta SELECT * FROM now.meta WHERE key <> 'schema'");
  database.prepare("INSERT INTO main.meta VALUES ('schema', ?)").run(version);
  database.close();
}

async function inboxIn(path: string): Promise<readonly InboxItem[]> {
  const store = open(path);
  const items = await store.readInbox({ limit: 1000 });
  await store.close();
  return items;
}

describe("a database from before there was an inbox", () => {
  it("has the inbox that its log leads to once it is opened", async () => {
    const store = open(now);
    for (let round = 0; round < 20; round++) await live(store);
    await store.close();
    makeOld();
    const items = await inboxIn(old);
    expect(items).toHaveLength(60);
    expect(items.filter(({ isOpen }) => isOpen)).toHaveLength(20);
    expect(items).toEqual(await inboxIn(now));
    // And it goes on from there.
    const opened = open(old);
    await live(opened);
    expect(
      (await checkStore(opened)).violations.filter(({ invariant }) => invariant === "I7"),
    ).toEqual([]);
    await opened.close();
    expect(await inboxIn(old)).toHaveLength(63);
  });

  it("opens although its log is damaged, with the items that can be derived", async () => {
    const store = open(now);
    for (let round = 0; round < 3; round++) await live(store);
    await store.close();
    makeOld();
    const database = new DatabaseSync(old);
    database.exec("UPDATE event_batches SET events = '[' || events WHERE first_seq = 1");
    database.close();
    expect(await inboxIn(old)).toHaveLength(6);
  });
});
