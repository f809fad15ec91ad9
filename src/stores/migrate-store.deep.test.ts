import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { Store } from "../ports/store.ts";
import { dropDatabase, freshDatabase } from "../testing/postgres.test-support.ts";
import { about, change, collect, note, refused, StoredRun } from "../testing/stored-run.ts";
import { testFolder } from "../testing/test-folder.test-support.ts";
import { migrateStore } from "./migrate-store.ts";
import { PostgresStore } from "./postgres/postgres-store.ts";
import { SqliteStore } from "./sqlite/sqlite-store.ts";

let folder: string;
let from: string;
let artifacts: string;
let url: string;

beforeEach(async () => {
  folder = testFolder();
  from = join(folder, "mandate.db");
  artifacts = join(folder, "artifacts");
  url = await freshDatabase();
});

afterEach(() => dropDatabase(url));

const openSource = (): SqliteStore =>
  new SqliteStore({ path: from, synchronous: "normal", artifacts });

const awkward = "nul \u0000, private \uf8fe0000, \\ \" ' \n 😀";

async function live(store: Store): Promise<readonly string[]> {
  const run = await StoredRun.start(store, awkward, awkward);
  const id = await run.child();
  store.keepText(awkward);
  const askId = store.newAskId();
  const asked = { ask_id: askId, call_id: "c", question: awkward, deadline_at: 1, default: null };
  await run.append(about(id, "agent.asked", asked), note(id, awkward));
  await store.changeRecords([change("a", 0, { awkward }), change("b", 0, 1)], "ann");
  await store.changeRecords([change("b", 1, null)], "ann");
  for (const callId of ["one", "two"]) {
    await store.memories.save(
      {
        ...{ text: awkward, tags: [awkward, "t"], key: "k", scope: "shared", profile: "p" },
        ...{ workspace: null, runId: run.id, delegationId: id, callId, lineage: [id] },
      },
      10,
    );
  }
  const key = { principal: "ann", key: awkward };
  await store.idempotency.begin({ ...key, fingerprint: "f" }, 0);
  await store.idempotency.finish(key, { status: 200, body: awkward });
  const { hash } = await store.keepArtifact(`${awkward} body`);
  await store.moveCursor("ann", 1_000);
  await run.append(note(id, "later"));
  return [run.id, id, hash, store.keepText(awkward)];
}

async function all(store: Store, [runId = "", id = "", hash = "", text = ""]: readonly string[]) {
  const key = { principal: "ann", key: awkward, fingerprint: "f" };
  return [
    ...[await collect(store), await store.readRun(runId), await store.listRuns({})],
    ...[await store.readContract(id), await store.readText(text), await store.readArtifact(hash)],
    ...[await store.listRecords("policy"), await store.readInbox({ limit: 100 })],
    ...[await store.readCursor("ann"), await store.unreadCount("bob")],
    await store.memories.find({ limit: 10, all: true }),
    await store.memories.find({ limit: 10, tags: ["t", awkward], text: "private" }),
    await store.idempotency.begin(key, 0),
  ];
}

describe("moving an embedded database to Postgres", () => {
  it("takes everything along, to the letter, and leaves the source as it was", async () => {
    const source = openSource();
    const ids = await live(source);
    for (let round = 0; round < 3; round++) await live(source).catch(() => undefined);
    const before = await all(source, ids);
    await source.close();
    const bytes = readFileSync(from);
    const told: string[] = [];
    const report = await migrateStore({
      ...{ from, artifacts, url },
      onProgress: (table, copied, of) => told.push(`${table} ${copied}/${of}`),
    });
    expect(report.violations.filter((one) => /^(I1|I2|I7|I8|I15) /.test(one))).toEqual([]);
    expect(told).toContain("records 1/1");
    expect(readFileSync(from).equals(bytes)).toBe(true);
    const target = await PostgresStore.open({ url });
    expect(await all(target, ids)).toEqual(before);
    // Nobody's id is given out again, and a deleted record keeps its versions.
    const source2 = openSource();
    expect(target.newRunId()).toBe(source2.newRunId());
    await source2.close();
    const [again] = await target.changeRecords([change("b", 0, 2)], "ann");
    expect(again?.version).toBe(3);
    expect(await target.claimRun(ids[0] ?? "")).toMatchObject({ fence: 2 });
    await target.close();
  });

  it("is refused while a process uses the source, or if the target is not empty", async () => {
    const source = openSource();
    await live(source);
    await refused(migrateStore({ from, artifacts, url }), "conflict");
    await source.close();
    const target = await PostgresStore.open({ url });
    await StoredRun.start(target);
    await target.close();
    const copying = migrateStore({ from, artifacts, url });
    await refused(copying, "conflict");
    await expect(copying).rejects.toThrow(/not empty/);
    await migrateStore({ from, artifacts, url, tenant: "other" });
    await refused(migrateStore({ from: `${from}x`, artifacts, url }), "usage");
  });
});
