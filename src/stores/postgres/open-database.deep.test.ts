import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { MandateError } from "../../ports/mandate-error.ts";
import { dropDatabase, execute, freshDatabase } from "../../testing/postgres.test-support.ts";
import { collect, note, notes, refused, StoredRun } from "../../testing/stored-run.ts";
import { until } from "../../testing/until.ts";
import { Database } from "./database.ts";
import { migrations } from "./migrations.ts";
import { PostgresStore } from "./postgres-store.ts";

let url: string;

beforeEach(async () => {
  url = await freshDatabase();
});

afterEach(() => dropDatabase(url));

const setSchema = (version: number) =>
  execute(url, "UPDATE mandate.meta SET value = $1 WHERE key = 'schema'", [version]);

/** Undefined while the next block of ids is under way: nobody makes so many without a pause. */
function newRunIdOf(store: PostgresStore): string | undefined {
  try {
    return store.newRunId();
  } catch (error) {
    if (error instanceof MandateError && error.code === "database-unusable") return undefined;
    throw error;
  }
}

describe("opening a Postgres database", () => {
  it("makes the schema once, though many open it in the same moment", async () => {
    const stores = await Promise.all(Array.from({ length: 8 }, () => PostgresStore.open({ url })));
    const [meta] = await execute(url, "SELECT value FROM mandate.meta WHERE key = 'schema'");
    expect(Number(meta?.["value"])).toBe(migrations.length);
    await Promise.all(stores.map((store) => store.close()));
  });

  it("refuses one from a newer version and says what to do", async () => {
    await (await PostgresStore.open({ url })).close();
    await setSchema(migrations.length + 1);
    const opening = PostgresStore.open({ url });
    await refused(opening, "database-newer");
    await expect(opening).rejects.toThrow(/newer Mandate.*Update mandate/);
  });

  it("takes passwords as they are, and connections that search no schema, whatever the URL says", async () => {
    const role = `plus_${process.pid}`;
    const address = new URL(url);
    const name = address.pathname.slice(1);
    await execute(url, `CREATE ROLE ${role} LOGIN PASSWORD 'a+b %'`);
    await execute(url, `GRANT CREATE ON DATABASE ${name} TO ${role}`);
    try {
      const given = new URL(`postgres://${role}:a+b%20%25@${address.host}/${name}`);
      given.searchParams.set("options", "-c search_path=public -c lock_timeout=1");
      const store = await PostgresStore.open({ url: given.href });
      expect(await store.listRuns({})).toEqual([]);
      await store.close();
      const database = await Database.load({ url: given.href, answerMs: 5000 });
      const [path] = await database.query({ text: "SHOW search_path" });
      const [timeout] = await database.query({ text: "SHOW lock_timeout" });
      expect([path?.["search_path"], timeout?.["lock_timeout"]]).toEqual(["", "4s"]);
      await database.close();
    } finally {
      await execute(url, `DROP OWNED BY ${role}`);
      await execute(url, `DROP ROLE ${role}`);
    }
  });

  it("lets a program write no more once a newer one has changed the schema under it", async () => {
    const store = await PostgresStore.open({ url });
    const run = await StoredRun.start(store);
    const id = await run.child();
    await setSchema(migrations.length + 1);
    await refused(run.append(note(id, "too old")), "database-newer");
    await setSchema(migrations.length);
    await run.append(note(id, "in time"));
    expect(notes(await collect(store))).toEqual(["in time"]);
    await store.close();
  });

  it("gives back the ids that it did not need", async () => {
    const nextId = async (): Promise<number> => {
      const [row] = await execute(url, "SELECT value FROM mandate.meta WHERE key = 'next_id'");
      return Number(row?.["value"]);
    };
    await (await PostgresStore.open({ url })).close();
    const before = await nextId();
    for (let time = 0; time < 5; time++) await (await PostgresStore.open({ url })).close();
    expect((await nextId()) - before).toBeLessThan(10);
    const [one, two] = [await PostgresStore.open({ url }), await PostgresStore.open({ url })];
    const ids = [one.newRunId(), two.newRunId()];
    await one.close();
    const three = await PostgresStore.open({ url });
    ids.push(two.newRunId(), three.newRunId());
    await two.close();
    await three.close();
    const four = await PostgresStore.open({ url });
    for (let time = 0; time < 40_000; time++) {
      ids.push(await until("another block of ids", () => newRunIdOf(four)));
    }
    await four.close();
    expect(new Set(ids).size).toBe(ids.length);
  });
});
