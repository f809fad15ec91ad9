import { mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { UsageLimit } from "../../contracts/usage-limit.ts";
import type { Store } from "../../ports/store.ts";
import { dropDatabase, execute, freshDatabase } from "../../testing/postgres.test-support.ts";
import { about, change, collect, note, refused, StoredRun } from "../../testing/stored-run.ts";
import { testFolder } from "../../testing/test-folder.test-support.ts";
import { PostgresStore } from "../postgres/postgres-store.ts";
import { SqliteStore } from "../sqlite/sqlite-store.ts";
import { migrateStore } from "./migrate-store.ts";

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
    const report = await migrateStore("postgres", {
      ...{ file: from, artifacts, url },
      onProgress: (table, copied, of) => told.push(`${table} ${copied}/${of}`),
    });
    expect(report.violations.filter((one) => /^(I1|I2|I7|I8|I15) /.test(one))).toEqual([]);
    expect(told).toContain("records 1/1");
    expect(readFileSync(from).equals(bytes)).toBe(true);
    const target = await PostgresStore.open({ url });
    expect(await all(target, ids)).toEqual(before);
    // No id is given out again, and a deleted record keeps its versions.
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
    await refused(migrateStore("postgres", { file: from, artifacts, url }), "conflict");
    await source.close();
    const target = await PostgresStore.open({ url });
    await StoredRun.start(target);
    await target.close();
    const copying = migrateStore("postgres", { file: from, artifacts, url });
    await refused(copying, "conflict");
    await expect(copying).rejects.toThrow(/not empty/);
    await migrateStore("postgres", { file: from, artifacts, url, tenant: "other" });
    await refused(migrateStore("postgres", { file: `${from}x`, artifacts, url }), "usage");
  });
});

describe("moving a Postgres schema to an embedded database", () => {
  const back = (): string => join(folder, "back", "mandate.db");
  const target = () => ({ file: back(), artifacts: join(folder, "back", "artifacts"), url });

  beforeEach(() => {
    mkdirSync(join(folder, "back"));
  });

  it("takes everything along, to the letter, there and back", async () => {
    const source = await PostgresStore.open({ url });
    const ids = await live(source);
    const before = await all(source, ids);
    await source.close();
    const told: string[] = [];
    const report = await migrateStore("sqlite", {
      ...target(),
      onProgress: (table, copied, of) => told.push(`${table} ${copied}/${of}`),
    });
    expect(report.violations.filter((one) => /^(I1|I2|I7|I8|I15) /.test(one))).toEqual([]);
    expect(report.copied).toMatchObject({ artifacts: 1, memories: 2, records: 1 });
    expect(told).toContain("records 1/1");
    const { artifacts, file } = target();
    const copy = new SqliteStore({ path: file, synchronous: "normal", artifacts });
    expect(await all(copy, ids)).toEqual(before);
    expect(await copy.memories.find({ limit: 10, text: "private" })).toHaveLength(1);
    // No id is used twice.
    const next = "SELECT value FROM %meta WHERE key = 'next_id'";
    const [given] = await execute(url, next.replace("%", "mandate."));
    const reading = new DatabaseSync(file, { readOnly: true });
    const kept = reading.prepare(next.replace("%", "")).get();
    reading.close();
    expect(kept?.["value"]).toBeGreaterThanOrEqual(Number(given?.["value"]));
    const [changed] = await copy.changeRecords([change("b", 0, 2)], "ann");
    expect(changed?.version).toBe(3);
    expect(await copy.claimRun(ids[0] ?? "")).toMatchObject({ fence: 2 });
    await copy.close();
    await migrateStore("postgres", { file, artifacts, url, tenant: "back" });
  });

  it("is refused while a process uses the source, if the target is not empty, and for what only workers continue", async () => {
    const source = await PostgresStore.open({ url });
    await live(source);
    await expect(migrateStore("sqlite", target())).rejects.toThrow(/is in use \(process \d+ of /);
    await source.close();
    await migrateStore("sqlite", target());
    const again = migrateStore("sqlite", target());
    await refused(again, "conflict");
    await expect(again).rejects.toThrow(/not empty/);
    await refused(migrateStore("sqlite", { ...target(), tenant: "nobody" }), "usage");
    const other = await PostgresStore.open({ url, tenant: "other" });
    const started = { task: "t", application: "suite", workspace: null, budget: { tokens: 1 } };
    const runId = other.newRunId();
    const payload = { ...started, ...other.ownership, spread: { delegations: 5 } };
    const events = [{ type: "run.started", payload }] as const;
    await other.append({ runId, by: other.ownership, events });
    await other.close();
    const file = join(folder, "back", "other.db");
    const copying = migrateStore("sqlite", { ...target(), file, tenant: "other" });
    await refused(copying, "conflict");
    await expect(copying).rejects.toThrow(runId);
  });
});

it.each(["postgres", "sqlite"] as const)(
  "takes limits and what is used of them today to %s",
  async (to) => {
    const scopes = ["tenant", "provider/openai", "queue/default"] as const;
    const places = { file: from, artifacts, url };
    const open = async (which: "postgres" | "sqlite"): Promise<Store> =>
      which === "postgres" ? PostgresStore.open({ url }) : openSource();
    const source = await open(to === "postgres" ? "sqlite" : "postgres");
    const limits: readonly UsageLimit[] = [{ scope: "tenant", costPerDay: 10e9 }];
    const run = await StoredRun.start(source);
    const [held, settled] = [await run.child(), await run.child()];
    const asks = (delegationId: string) => ({
      ...{ delegationId, request: 1, provider: "openai", queue: "default", tokens: 100, cost: 3e9 },
    });
    for (const id of [held, settled]) await source.usage?.admit(asks(id), limits);
    const settles = { request: 1, reserved: 100, prompt: 30, completion: 10, cost: 2 };
    await run.append(about(settled, "agent.budget_reserved", { request: 1, tokens: 100 }));
    await run.append(about(settled, "agent.budget_settled", settles));
    const before = await source.usage?.usageOf(scopes);
    expect(before?.get("tenant")).toMatchObject({ open: 1, requests: 2, held: 3e9, spent: 2e9 });
    await source.close();
    await migrateStore(to, places);
    const target = await open(to);
    expect(await target.usage?.usageOf(scopes)).toEqual(before);
    const other = await target.usage?.admit(
      { ...asks(target.newDelegationId()), cost: 6e9 },
      limits,
    );
    expect(other?.is).not.toBe("admitted");
    // What is held is released where the log continues.
    const by = (await target.claimRun(run.id)) ?? target.ownership;
    const done = { ...settles, cost: 1 };
    await target.append({
      runId: run.id,
      by,
      events: [
        about(held, "agent.budget_reserved", { request: 1, tokens: 100 }),
        about(held, "agent.budget_settled", done),
      ],
    });
    const after = (await target.usage?.usageOf(scopes))?.get("tenant");
    expect(after).toMatchObject({ open: 0, held: 0, spent: 3e9 });
    await target.close();
  },
);
