import pg from "pg";
import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from "vitest";
import { sha256 } from "../../events/hash-chain.ts";
import { dropDatabase, execute, freshDatabase } from "../../testing/postgres.test-support.ts";
import { about, assertSound, change, collect, note, StoredRun } from "../../testing/stored-run.ts";
import { PostgresStore } from "./postgres-store.ts";

let url: string;
let sent: string[];

beforeEach(async () => {
  url = await freshDatabase();
  sent = [];
});

afterEach(async () => {
  vi.restoreAllMocks();
  await dropDatabase(url);
});

/** Everything that a store keeps, and every question that it can ask. */
async function live(store: PostgresStore, text: string): Promise<void> {
  const run = await StoredRun.start(store, text);
  const id = await run.child();
  store.keepText(text);
  const askId = store.newAskId();
  const asked = { ask_id: askId, call_id: "c", question: text, deadline_at: 1, default: null };
  await run.append(about(id, "agent.asked", asked), note(id, text));
  await run.append(about(id, "agent.answered", { ask_id: askId, answer: text, by: "person" }));
  await store.changeRecords([change("a", 0, { text })], "ann");
  await store.noteCommand(`/${text}`, "ann", "done");
  await store.memories.save(
    {
      ...{ text, tags: [text], key: "k", scope: "shared", workspace: null, profile: "p" },
      ...{ runId: run.id, delegationId: id, callId: "c", lineage: [id] },
    },
    10,
  );
  await store.idempotency.begin({ principal: "ann", key: "k", fingerprint: text }, 0);
  await store.idempotency.finish({ principal: "ann", key: "k" }, { status: 200, body: text });
  await store.keepArtifact(text);
  await store.moveCursor("ann", 1_000);
}

/** All that a store can be asked, as one text. */
async function all(store: PostgresStore): Promise<string> {
  const [run] = await store.listRuns({});
  const events = await collect(store);
  const delegationId = events.find((event) => event.sub_agent_id)?.sub_agent_id ?? "";
  const keyed = { principal: "ann", key: "k", fingerprint: "x" };
  return JSON.stringify([
    ...[await store.listRuns({}), events, await store.readRun(run?.id ?? "")],
    ...[await store.readContract(delegationId), await store.findRun(delegationId)],
    ...[await store.listRecords("policy"), await store.readRecord("policy", "a")],
    ...[await store.readInbox({ limit: 100 }), await store.unreadCount("ann")],
    ...[
      await store.memories.find({ limit: 10 }),
      await store.memories.find({ text: "one two", limit: 9 }),
    ],
    ...[await store.idempotency.begin(keyed, 0), await store.readCursor("ann")],
    ...[await store.claimRun(run?.id ?? ""), await store.isWorkerAlive("x")],
  ]);
}

describe("tenants of one database", () => {
  it("see nothing of each other, in any table and by any question", async () => {
    // Made first, so that both can be told to count from the same place.
    for (const tenant of ["one", "two"]) {
      await (await PostgresStore.open({ url, tenant })).close();
      await execute(url, `UPDATE mandate_${tenant}.meta SET value = 1 WHERE key = 'next_id'`);
    }
    const one = await PostgresStore.open({ url, tenant: "one" });
    const two = await PostgresStore.open({ url, tenant: "two" });
    await live(one, "first-secret");
    await live(two, "second-secret");
    const tables = await execute(
      url,
      "SELECT table_schema, table_name FROM information_schema.tables WHERE table_schema LIKE 'mandate%'",
    );
    expect(tables.length).toBeGreaterThan(20);
    for (const { table_name: table, table_schema: schema } of tables) {
      const rows = JSON.stringify(await execute(url, `SELECT * FROM ${schema}.${table}`));
      // Hashes and bytes tell it as well.
      const foreign = schema === "mandate_one" ? "second-secret" : "first-secret";
      const forms = [foreign, sha256(foreign), JSON.stringify(Buffer.from(foreign))];
      for (const form of forms) expect(rows, `${schema}.${table}`).not.toContain(form);
    }
    expect(await all(one)).toContain("first-secret");
    expect(await all(one)).not.toContain("second-secret");
    expect(await all(two)).not.toContain("first-secret");
    expect(await two.readArtifact(sha256("first-secret"))).toBeUndefined();
    expect(await two.readText(sha256("first-secret"))).toBeUndefined();
    // Both tenants give out the same numbers: each counts for itself.
    expect((await one.listRuns({}))[0]?.id).toBe((await two.listRuns({}))[0]?.id);
    for (const store of [one, two]) {
      await assertSound(store);
      await store.close();
    }
  });

  it("are named in every statement, and no other one is", async () => {
    const { query } = pg.Client.prototype;
    const spy = vi.spyOn(pg.Client.prototype, "query").mockImplementation(function (
      this: pg.Client,
      ...given: unknown[]
    ) {
      const [first] = given;
      sent.push(typeof first === "string" ? first : String((first as { text?: string }).text));
      return Reflect.apply(query, this, given);
    } as never);
    onTestFinished(() => spy.mockRestore());
    const store = await PostgresStore.open({ url, tenant: "one" });
    await live(store, "text");
    await all(store);
    await assertSound(store);
    await store.close();
    spy.mockRestore();
    expect(sent.length).toBeGreaterThan(40);
    const names =
      /\b(?:FROM|JOIN|INTO|UPDATE|TABLE|ON)\s+(?:IF NOT EXISTS\s+)?((?:"[^"]+"|\w+)\.\w+)/g;
    for (const text of sent) {
      for (const [, schema] of text.matchAll(/"(mandate\w*)"/g)) expect(schema).toBe("mandate_one");
      for (const [, name] of text.matchAll(names)) {
        expect(name, text).toMatch(/^("mandate_one"|pg_catalog|[a-z])\./);
      }
    }
    // And where one were forgotten, nothing would be found: no schema is searched.
    await expect(
      execute(`${url}?options=-c%20search_path%3D`, "SELECT 1 FROM runs"),
    ).rejects.toThrow(/does not exist/);
  });

  it("have names that are short words", async () => {
    for (const tenant of ["", "A", "1a", "a-b", 'a"b', "a;b", "x".repeat(32), "é"]) {
      await expect(PostgresStore.open({ url, tenant })).rejects.toMatchObject({ code: "usage" });
    }
  });
});
