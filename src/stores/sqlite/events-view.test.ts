import { rmSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { expect, it } from "vitest";
import { checkStore } from "../../events/checker/check-store.ts";
import { genesis, link } from "../../events/hash-chain.ts";
import { runNumberOf } from "../../ports/identity.ts";
import { collect, note, StoredRun } from "../../testing/stored-run.ts";
import { testFolder } from "../../testing/test-folder.test-support.ts";
import { SqliteStore } from "./sqlite-store.ts";

it("shows every event in SQL, with its line for people", async () => {
  const path = join(testFolder(), "mandate.db");
  const store = new SqliteStore({ path, synchronous: "normal", artifacts: null });
  const run = await StoredRun.start(store);
  await run.append(note(await run.child(), "a note"));
  const events = await collect(store);
  await store.close();
  const database = new DatabaseSync(path);
  const rows = database.prepare("SELECT seq, type, at, summary FROM events").all();
  database.close();
  expect(rows.map((row) => ({ ...row, at: Number(row["at"]) }))).toEqual(
    events.map(({ at, seq, summary, type }) => ({ seq, type, at, summary })),
  );
});

it("reads events that were stored without their line, and gives them one", async () => {
  const path = join(testFolder(), "mandate.db");
  const open = () => new SqliteStore({ path, synchronous: "normal", artifacts: null });
  const store = open();
  const run = await StoredRun.start(store);
  await store.close();
  rmSync(`${path}-head`);
  const database = new DatabaseSync(path);
  const row = database.prepare("SELECT events FROM event_batches").get();
  const [[type, , at, payload]] = JSON.parse(String(row?.["events"]));
  const text = JSON.stringify([type, null, at, payload]);
  const head = link(genesis(run.id), text);
  database
    .prepare("UPDATE event_batches SET events = ?, hash = ? WHERE run = ?")
    .run(`[${text}]`, head, runNumberOf(run.id) ?? -1);
  expect(database.prepare("SELECT summary FROM events").get()).toEqual({ summary: "run.started" });
  database.close();
  const again = open();
  const [event] = await collect(again);
  expect(event).toMatchObject({ summary: "run started: t", hash: head });
  expect((await checkStore(again)).violations).toEqual([]);
  await again.close();
});
