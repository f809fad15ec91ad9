import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { describeStore, openStore } from "./open-store.ts";
import { PostgresStore } from "./stores/postgres/postgres-store.ts";
import { dropDatabase, execute, freshDatabase } from "./testing/postgres.test-support.ts";
import { refused } from "./testing/stored-run.ts";
import { testFolder } from "./testing/test-folder.test-support.ts";

let folder: string;
let url: string;

beforeEach(async () => {
  folder = testFolder();
  url = await freshDatabase();
});

afterEach(() => dropDatabase(url));

describe("a store on Postgres", () => {
  it("is opened where MANDATE_DATABASE_URL says so, and nowhere else", async () => {
    const environment = { MANDATE_HOME: join(folder, "home"), MANDATE_DATABASE_URL: url };
    const store = await openStore({ environment });
    expect(store).toBeInstanceOf(PostgresStore);
    await store.close();
    const other = await openStore({ environment: { ...environment, MANDATE_TENANT: "acme" } });
    await other.close();
    const rows = await execute(
      url,
      "SELECT nspname FROM pg_namespace WHERE nspname LIKE 'mandate%' ORDER BY 1",
    );
    expect(rows.map((row) => row["nspname"])).toEqual(["mandate", "mandate_acme"]);
    const memory = await openStore({ environment, database: ":memory:" });
    expect(memory).not.toBeInstanceOf(PostgresStore);
    await memory.close();
  });

  it("is not opened by what is no URL of Postgres, which is not repeated either", async () => {
    for (const bad of ["mysql://user:secret@host/db", "secret", "file:///secret"]) {
      const opening = openStore({
        environment: { MANDATE_HOME: folder, MANDATE_DATABASE_URL: bad },
      });
      await refused(opening, "config-invalid");
      const message = await opening.catch((error: unknown) => String(error));
      expect(message).not.toContain("secret");
    }
  });

  it("is described without user and password", async () => {
    const { path } = await describeStore({ environment: { MANDATE_DATABASE_URL: url } });
    const { hostname, password, pathname, port } = new URL(url);
    expect(path).toBe(`${pathname.slice(1)} at ${hostname}:${port}`);
    expect(path).not.toContain(password);
  });
});
