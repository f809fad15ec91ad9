import { appendFileSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { beforeEach, describe, expect, it } from "vitest";
import { checkStore } from "../../events/checker/check-store.ts";
import { link } from "../../events/hash-chain.ts";
import { systemClock } from "../../ports/clock.ts";
import { controlRunId, runNumberOf } from "../../ports/identity.ts";
import { change, note, StoredRun } from "../../testing/stored-run.ts";
import { testFolder } from "../../testing/test-folder.test-support.ts";
import { HeadFile } from "./head-file.ts";
import { SqliteStore } from "./sqlite-store.ts";

let path: string;

beforeEach(() => {
  path = join(testFolder(), "mandate.db");
});

const open = () => new SqliteStore({ path, synchronous: "normal", artifacts: null });
const headOf = (index: number) => ({
  runId: "r0000aa",
  seq: index,
  hash: index.toString(16).padStart(64, "0"),
});

async function missing(): Promise<readonly (string | undefined)[]> {
  const store = open();
  const { violations } = await checkStore(store);
  await store.close();
  return violations.filter(({ invariant }) => invariant === "I8").map(({ runId }) => runId);
}

function tamper(sql: string): void {
  const database = new DatabaseSync(path);
  database.exec(sql);
  database.close();
}

describe("the head file", () => {
  it("gives back what was added, and passes over lines that are torn", () => {
    const file = new HeadFile(path, systemClock);
    expect(file.read()).toBeUndefined();
    file.add([headOf(1), headOf(2)]);
    file.flush();
    appendFileSync(path, "r0000aa 3 00ff");
    file.add([headOf(4)]);
    file.flush();
    file.add([headOf(5)]);
    file.notePruning([headOf(2)], 5);
    const heads = [headOf(1), headOf(2), headOf(5)];
    expect(file.read()).toEqual({ path, heads, pruned: [headOf(2)], since: 2 });
  });

  it("stays small, and keeps the latest", () => {
    const file = new HeadFile(path, systemClock);
    file.add([headOf(0)]);
    file.flush();
    file.add(Array.from({ length: 15_000 }, (_, index) => headOf(index)));
    file.flush();
    expect(statSync(path).size).toBeLessThan(1024 * 1024);
    expect(file.read()?.heads.at(-1)).toEqual(headOf(14_999));
    expect(file.read()?.since).toBe((file.read()?.heads[0]?.seq ?? 0) - 1);
    expect(statSync(path).mode & 0o777).toBe(0o600);
  });

  it("warns when it cannot be written, and throws nothing", async () => {
    const file = new HeadFile(join(path, "no", "such", "folder"), systemClock);
    const warned = new Promise((resolve) => process.once("warning", resolve));
    file.add([headOf(1)]);
    expect(String(await warned)).toContain("ENOENT");
  });
});

describe("a store", () => {
  it("notes the ends of runs, of the control log, and of what it leaves open", async () => {
    const store = open();
    const done = await StoredRun.start(store);
    const resting = await StoredRun.start(store);
    await resting.append(note(await resting.child(), "and rests"));
    const [finished] = await done.finish();
    await store.noteCommand("/help", "ann", "shown");
    // Lines wait for others for a moment, and are written before anything is inspected.
    store.inspect();
    const before = readFileSync(`${path}-head`, "utf8");
    await store.close();
    const after = readFileSync(`${path}-head`, "utf8");
    expect(before).toContain(`${done.id} ${finished?.seq} ${finished?.hash}\n`);
    expect(before).toContain(`${controlRunId} `);
    expect(before).not.toContain(resting.id);
    expect(after).toContain(`${resting.id} `);
  });

  it("misses the end of a run that was left open", async () => {
    const store = open();
    const run = await StoredRun.start(store);
    const child = await run.child();
    await run.append(note(child, "first"));
    await run.append(note(child, "last"));
    await store.close();
    expect(await missing()).toEqual([]);
    tamper("DELETE FROM event_batches WHERE events LIKE '%last%'");
    expect(await missing()).toEqual([run.id]);
  });

  it("misses the end of the control log, with the records that it was about", async () => {
    const store = open();
    const pin = change("profile-pin:global", 0, { profileId: "coder" });
    await store.noteCommand("/help", "ann", "shown");
    await store.changeRecords([pin], "ann");
    await store.close();
    tamper(`DELETE FROM event_batches WHERE events LIKE '%record_changed%';
            DELETE FROM records; DELETE FROM record_versions`);
    expect(await missing()).toEqual([controlRunId]);
  });

  it("accepts a pruned run by its receipt, unless the receipt is of another end", async () => {
    const store = open();
    const run = await StoredRun.start(store);
    await run.finish();
    await store.prune({ actor: "ann", finishedBefore: Date.now() + 1000, most: 10 });
    await store.close();
    expect(await missing()).toEqual([]);
    const lines = readFileSync(`${path}-head`, "utf8");
    const other = `${run.id} 2 ${"0".repeat(64)}\n`;
    writeFileSync(`${path}-head`, lines.replace(/^r.*\n/m, other));
    expect(await missing()).toEqual([run.id]);
  });

  it("does not take a receipt for one that pruning did not write, with every hash made to fit", async () => {
    const store = open();
    const [run, other] = [await StoredRun.start(store), await StoredRun.start(store)];
    await run.finish();
    await other.finish();
    await store.noteCommand("/help", "ann", "shown");
    await store.close();
    forgePruning(run.id);
    expect(await missing()).toEqual([controlRunId]);
    // A home of an earlier version, or one that was restored, has no such file.
    rmSync(`${path}-head`);
    expect(await missing()).toEqual([]);
  });
});

/** Takes a run out, and writes the receipt that pruning it would have written. */
function forgePruning(runId: string): void {
  const database = new DatabaseSync(path);
  const number = runNumberOf(runId) ?? -1;
  const batches = database
    .prepare("SELECT * FROM event_batches WHERE run = ? ORDER BY first_seq")
    .all(number);
  const spans = batches.map((row) => [Number(row["first_seq"]), Number(row["count"])]);
  const events = spans.reduce((sum, [, count = 0]) => sum + count, 0);
  const head = String(batches.at(-1)?.["hash"]);
  const times = { started_at: 1, finished_at: 2 };
  const counted = { events, head, spans, numbers: [[number, 1]], memories: 0, spent: [] };
  const payload = { run: runId, actor: "ann", outcome: "failed", ...times, ...counted };
  const text = JSON.stringify(["control.pruned", null, 3, payload, "pruned"]);
  const control = database
    .prepare("SELECT * FROM event_batches WHERE run = 0 ORDER BY first_seq DESC LIMIT 1")
    .get();
  const last = database.prepare("SELECT max(first_seq + count) AS next FROM event_batches").get();
  const place = Number(control?.["first_run_seq"]) + Number(control?.["count"]);
  const hash = link(String(control?.["hash"]), text);
  database.prepare("DELETE FROM event_batches WHERE run = ?").run(number);
  database.prepare("DELETE FROM runs WHERE number = ?").run(number);
  database.prepare("DELETE FROM inbox WHERE run = ?").run(number);
  database
    .prepare("INSERT INTO event_batches VALUES (?, 0, ?, 1, ?, ?)")
    .run(Number(last?.["next"]), place, hash, `[${text}]`);
  database.close();
}
