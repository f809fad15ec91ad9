import { readFileSync } from "node:fs";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import { afterAll, beforeAll, expect, it } from "vitest";
import { scriptedModel } from "../../models/scripted/scripted-model.ts";
import { runIdOf } from "../../ports/identity.ts";
import { openDesk } from "../../stores/dbos/beside.test-support.ts";
import { migrations } from "../../stores/postgres/migrations.ts";
import { dropDatabase, execute, freshDatabase } from "../../testing/postgres.test-support.ts";
import { testFolder } from "../../testing/test-folder.test-support.ts";
import { until } from "../../testing/until.ts";
import { createMandate, type Mandate } from "../library/mandate.ts";

let url: string;

beforeAll(async () => {
  url = await freshDatabase();
  const recorded = readFileSync(join(import.meta.dirname, "8dc8d963.sql.gz"));
  await execute(url, gunzipSync(recorded).toString());
});

afterAll(() => dropDatabase(url));

async function schemaVersion(): Promise<unknown> {
  const [row] = await execute(url, "SELECT value FROM mandate.meta WHERE key = 'schema'");
  return Number(row?.["value"]);
}

/** As a person opens it who works on nothing. */
function open(): Promise<Mandate> {
  const folder = testFolder();
  return createMandate({
    environment: { MANDATE_DATABASE_URL: url, MANDATE_HOME: folder, HOME: folder },
    cwd: folder,
    recover: false,
    scripted: scriptedModel(() => {
      throw new Error("a model was asked");
    }),
  });
}

it("is migrated by the first process of this version, verifies, and replays", async () => {
  expect(await schemaVersion()).toBe(5);
  const mandate = await open();
  expect(await schemaVersion()).toBe(migrations.length);
  const report = await mandate.verify();
  expect(report.violations).toEqual([]);
  const runs = await execute(url, "SELECT number, task, outcome FROM mandate.runs");
  expect(runs).toHaveLength(33);
  for (const { number, outcome, task } of runs) {
    const { differences, isFinished } = await mandate.replay(runIdOf(Number(number)));
    const said = differences.map(({ message }) => message);
    expect({ task, said, isFinished }).toEqual({ task, said: [], isFinished: outcome !== null });
  }
  await mandate.close();
});

it("has its queued work done by a worker of this version", async () => {
  using desk = openDesk(url);
  const worker = desk.mandate("worker");
  const text = "SELECT outcome FROM mandate.runs WHERE task = 'spread and queued'";
  await until(
    "the queued run ends",
    async () => (await execute(url, text))[0]?.["outcome"] !== null,
  );
  expect(await execute(url, text)).toEqual([{ outcome: "succeeded" }]);
  worker.process.kill("SIGTERM");
  expect(await worker.ended, worker.said.err).toBe(0);
  const mandate = await open();
  expect((await mandate.verify()).violations).toEqual([]);
  await mandate.close();
});
