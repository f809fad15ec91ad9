import {
  appendFileSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { beforeEach, describe, expect, it, onTestFinished } from "vitest";
import { checkStore } from "../../events/checker/check-store.ts";
import { controlRunId } from "../../ports/identity.ts";
import { change } from "../../testing/stored-records.ts";
import { note, StoredRun } from "../../testing/stored-run.ts";
import { HeadFile } from "./head-file.ts";
import { SqliteStore } from "./sqlite-store.ts";

let path: string;

beforeEach(() => {
  const folder = mkdtempSync(join(tmpdir(), "mandate-heads-"));
  path = join(folder, "mandate.db");
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
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
    const file = new HeadFile(path);
    expect(file.read()).toBeUndefined();
    file.add([headOf(1), headOf(2)]);
    appendFileSync(path, "r0000aa 3 00ff");
    file.add([headOf(4)]);
    file.add([headOf(5)]);
    expect(file.read()).toEqual({ path, heads: [headOf(1), headOf(2), headOf(5)] });
  });

  it("stays small, and keeps the latest", () => {
    const file = new HeadFile(path);
    file.add(Array.from({ length: 15_000 }, (_, index) => headOf(index)));
    expect(statSync(path).size).toBeLessThan(1024 * 1024);
    expect(file.read()?.heads.at(-1)).toEqual(headOf(14_999));
    expect(statSync(path).mode & 0o777).toBe(0o600);
  });

  it("warns when it cannot be written, and throws nothing", async () => {
    const file = new HeadFile(join(path, "no", "such", "folder"));
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
    writeFileSync(`${path}-head`, lines.replace(/^r.*\n/, other));
    expect(await missing()).toEqual([run.id]);
  });
});
