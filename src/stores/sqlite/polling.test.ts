import { join } from "node:path";
import { DatabaseSync, StatementSync } from "node:sqlite";
import { afterEach, beforeEach, expect, it } from "vitest";
import { runNumberOf } from "../../ports/identity.ts";
import { ManualClock } from "../../testing/manual-clock.ts";
import { collect, note, StoredRun } from "../../testing/stored-run.ts";
import { testFolder } from "../../testing/test-folder.test-support.ts";
import { SqliteStore } from "./sqlite-store.ts";

let folder: string;
let clock: ManualClock;
let store: SqliteStore;
let beside: SqliteStore;
let heard: number[];
let warnings: string[];
const { all } = StatementSync.prototype;
const warned = ({ message }: Error): number => warnings.push(message);

beforeEach(() => {
  // Looks are made when a test lets time pass, and at no other moment.
  clock = new ManualClock();
  folder = testFolder();
  const path = join(folder, "mandate.db");
  const options = { path, synchronous: "normal", artifacts: null } as const;
  store = new SqliteStore({ ...options, clock, pollMs: 10 });
  beside = new SqliteStore({ ...options, pollMs: 1e9 });
  heard = [];
  store.subscribe((events) => heard.push(...events.map(({ seq }) => seq)));
  warnings = [];
  process.on("warning", warned);
});

afterEach(async () => {
  StatementSync.prototype.all = all;
  process.off("warning", warned);
  await store.close();
  await beside.close();
});

function damage(sql: string): void {
  const database = new DatabaseSync(join(folder, "mandate.db"));
  database.exec(sql);
  database.close();
}

it("a run that was damaged is nothing to the others: they are heard, read and written", async () => {
  const own = await StoredRun.start(store);
  const id = await own.child();
  const [hurt, sound] = [await StoredRun.start(beside), await StoredRun.start(beside)];
  // It is kept in memory as far as it was read.
  expect((await store.readRun(hurt.id))?.lastRunSeq).toBe(1);
  await hurt.child();
  const child = await sound.child();
  heard = [];
  damage(`UPDATE event_batches SET events = '[1]' WHERE run = ${runNumberOf(hurt.id)}`);
  await clock.advance(30);
  const [, ...events] = await collect(store, { runId: sound.id });
  expect(heard).toEqual(events.map(({ seq }) => seq));
  expect(warnings).toEqual([expect.stringContaining(`The events of run ${hurt.id}`)]);
  const refusal = { code: "database-unusable", message: expect.stringContaining(hurt.id) };
  await expect(store.readRun(hurt.id)).rejects.toMatchObject(refusal);
  expect((await store.readRun(sound.id))?.delegations.has(child)).toBe(true);
  // Also those that share a transaction with it.
  const inVain = {
    runId: hurt.id,
    by: "operator",
    events: [note(id, "to the damaged one")],
  } as const;
  const [refused, written] = [store.append(inVain), own.append(note(id, "beside it"))];
  await expect(refused).rejects.toMatchObject(refusal);
  expect(await written).toHaveLength(1);
});

it("a run with an impossible log is never shown half-applied", async () => {
  const run = await StoredRun.start(beside);
  const id = await run.child();
  expect((await store.readRun(run.id))?.lastRunSeq).toBe(4);
  await run.append(note(id, "said"));
  damage(
    `UPDATE event_batches SET events = replace(events, 'agent.interjected', 'run.started') WHERE first_run_seq = 5`,
  );
  const other = await StoredRun.start(beside);
  await clock.advance(10);
  expect(heard.at(-1)).toBe((await collect(beside, { runId: other.id })).at(-1)?.seq);
  await expect(store.readRun(run.id)).rejects.toMatchObject({ code: "illegal-transition" });
});

it("a failing read ends no process, is reported once, and the next read makes up for it", async () => {
  const run = await StoredRun.start(beside);
  StatementSync.prototype.all = () => {
    throw new Error("the disk failed");
  };
  await clock.advance(30);
  expect(warnings).toEqual(["the disk failed"]);
  StatementSync.prototype.all = all;
  await clock.advance(10);
  expect(heard).toEqual((await collect(beside, { runId: run.id })).map(({ seq }) => seq));
});
