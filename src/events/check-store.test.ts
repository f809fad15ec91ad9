import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import { SqliteStore } from "../stores/sqlite/sqlite-store.ts";
import { checkStore } from "./check-store.ts";
import { makeHealthyDatabase } from "./healthy-database.test-support.ts";

it("finds nothing wrong", async () => {
  const folder = mkdtempSync(join(tmpdir(), "mandate-check-"));
  const path = join(folder, "healthy.db");
  const runs = await makeHealthyDatabase(path);
  console.log(runs);
  const store = new SqliteStore({ path, synchronous: "normal", artifacts: null });
  const report = await checkStore(store);
  console.log(report);
  for await (const e of store.readEvents({})) console.log(e.seq, e.run_id, e.sub_agent_id, e.type, JSON.stringify(e.payload).slice(0,150));
  expect(report.ok).toBe(true);
});
