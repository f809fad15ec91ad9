import { chmodSync, mkdirSync, readFileSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { beforeEach, describe, expect, it } from "vitest";
import { testFolder } from "../../testing/test-folder.test-support.ts";
import { migrations } from "./migrations.ts";
import { openDatabase } from "./open-database.ts";
import { startBeside, untilTheyHave } from "./process-beside.test-support.ts";

let folder: string;
let path: string;

beforeEach(() => {
  folder = testFolder();
  path = join(folder, "mandate.db");
});

const open = (at = path): DatabaseSync => openDatabase({ path: at, synchronous: "full" });

describe("openDatabase", () => {
  it("makes the schema once and opens it again unchanged", () => {
    open().close();
    const schema = (): unknown => {
      const database = open();
      const rows = database.prepare("SELECT name, sql FROM sqlite_schema ORDER BY name").all();
      database.close();
      return rows;
    };
    expect(schema()).toEqual(schema());
  });

  it("counts from another place in every home, so that ids of two are not the same", () => {
    const firstOf = (at: string): unknown => {
      const database = open(at);
      const row = database.prepare("SELECT value FROM meta WHERE key = 'next_id'").get();
      database.close();
      return row?.["value"];
    };
    const firsts = ["a", "b", "c", "d"].map((name) => firstOf(join(folder, name)));
    expect(new Set(firsts).size).toBeGreaterThan(1);
    expect(Math.max(...firsts.map(Number))).toBeLessThan(2 ** 23 + 1);
    expect(firstOf(join(folder, "a"))).toBe(firsts[0]);
  });

  it("brings a database of the first version up to date and keeps what is in it", () => {
    const old = new DatabaseSync(path);
    old.exec("PRAGMA journal_mode = WAL; CREATE TABLE meta (key TEXT PRIMARY KEY, value INTEGER)");
    old.exec(migrations[0] ?? "");
    old.exec("INSERT INTO meta VALUES ('schema', 1), ('next_id', 77)");
    old.exec("INSERT INTO texts VALUES ('h', 'kept')");
    old.close();
    const database = open();
    const value = (sql: string): unknown => database.prepare(sql).get();
    expect(value("SELECT value FROM meta WHERE key = 'schema'")).toEqual({
      value: migrations.length,
    });
    expect(value("SELECT value FROM meta WHERE key = 'next_id'")).toEqual({ value: 77 });
    expect(value("SELECT body FROM texts")).toEqual({ body: "kept" });
    expect(value("SELECT count(*) AS records FROM records")).toEqual({ records: 0 });
    database.close();
  });

  it("waits for who makes the same database in this moment", async () => {
    for (let round = 0; round < 3; round++) {
      // Waiting blocks, so those who race have to be others.
      const start = join(folder, `start-${round}`);
      const openers = Array.from({ length: 5 }, () =>
        startBeside(new URL("./open-beside.test-support.ts", import.meta.url), [
          join(folder, `${round}.db`),
          start,
        ]),
      );
      await untilTheyHave("got ready", openers, () =>
        openers.every(({ lines }) => lines.length > 0),
      );
      writeFileSync(start, "");
      expect(await Promise.all(openers.map(({ ended }) => ended))).toEqual([0, 0, 0, 0, 0]);
    }
  });

  it("is durable as asked: full by default, normal by choice, both with a write-ahead log", () => {
    for (const [synchronous, level] of [
      ["full", 2],
      ["normal", 1],
    ] as const) {
      const database = openDatabase({ path, synchronous });
      expect(database.prepare("PRAGMA synchronous").get()).toEqual({ synchronous: level });
      expect(database.prepare("PRAGMA journal_mode").get()).toEqual({ journal_mode: "wal" });
      database.close();
    }
  });

  it("refuses a database from a newer version and leaves it as it is", () => {
    const database = open();
    database.prepare("UPDATE meta SET value = ? WHERE key = 'schema'").run(migrations.length + 1);
    database.close();
    const error = thrownBy(() => open());
    expect(error).toMatchObject({ code: "database-newer" });
    expect(String(error)).toMatch(/newer Mandate.*Update mandate/);
    const after = new DatabaseSync(path);
    expect(after.prepare("SELECT value FROM meta WHERE key = 'schema'").get()).toEqual({
      value: migrations.length + 1,
    });
    after.close();
  });

  it("says in a sentence what is wrong with a path that cannot be a database", () => {
    writeFileSync(
      join(folder, "text.db"),
      "this is a text and no database, whatever its name says",
    );
    mkdirSync(join(folder, "folder.db"));
    for (const bad of ["text.db", "folder.db", "missing/mandate.db"]) {
      const error = thrownBy(() => open(join(folder, bad)));
      expect(error).toMatchObject({ code: "database-unusable" });
      expect(String(error)).toMatch(/cannot be opened.*MANDATE_HOME/);
    }
  });

  it.each([
    ["cut off", (file: string) => truncateSync(file, 5000)],
    ["overwritten", (file: string) => writeFileSync(file, Buffer.alloc(20_000, 0x5a))],
  ])("says of a file that is %s what to do with it, and leaves it as it is", (_how, damage) => {
    open().close();
    damage(path);
    const before = readFileSync(path);
    const error = thrownBy(() => open());
    expect(error).toMatchObject({ code: "database-unusable" });
    expect(String(error)).toMatch(/damaged.*from a backup/);
    expect(readFileSync(path).equals(before)).toBe(true);
  });

  it("says that a folder is read-only", ({ skip }) => {
    skip(process.getuid?.() === 0, "root writes into every folder");
    chmodSync(folder, 0o500);
    expect(thrownBy(() => open())).toMatchObject({ code: "database-unusable" });
    chmodSync(folder, 0o700);
  });
});

function thrownBy(action: () => unknown): unknown {
  try {
    action();
  } catch (error) {
    return error;
  }
  throw new Error("nothing was thrown");
}
