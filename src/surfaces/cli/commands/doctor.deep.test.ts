import { expect, it } from "vitest";
import { openDesk } from "../../../stores/dbos/beside.test-support.ts";
import { dropDatabase, execute, freshDatabase } from "../../../testing/postgres.test-support.ts";
import { until } from "../../../testing/until.ts";

it("says of a fleet what Postgres makes durable, who works, what waits and what is stopped", async () => {
  const url = await freshDatabase();
  try {
    using desk = openDesk(url);
    const ask = async () => {
      const doctor = desk.mandate("doctor");
      expect(await doctor.ended, doctor.said.err).toBe(0);
      return doctor.said.out;
    };
    const alone = await ask();
    // The servers of tests do not wait for the disk, and the sentence of the embedded database is not theirs.
    expect(alone).toMatch(/durability +synchronous_commit on, fsync off: a power cut can lose/);
    expect(alone).not.toContain("synchronous full");
    expect(alone).toMatch(/connections +\d+ of 500 connections in use/);
    expect(alone).toMatch(/migration +the schema was at 0 of \d+/);
    expect(alone).toMatch(/workers +none is alive, 0 delegations waiting\. Start one: .* worker/);
    const worker = desk.mandate("worker");
    await worker.printed("takes work");
    const paused = desk.mandate("queues", "pause", "default");
    expect(await paused.ended).toBe(0);
    const queued = desk.mandate("run", "--trust-folder", "--quiet", "Count the boats");
    await until("the run is in its queue", async () => {
      const text = "SELECT 1 FROM mandate_engine.workflow_status WHERE status = 'ENQUEUED'";
      return (await execute(url, text)).length === 1;
    });
    const fleet = await ask();
    expect(fleet).toMatch(
      /queue default +1 delegation waiting, none at work\. .* worker --queues default/,
    );
    const resumed = desk.mandate("queues", "resume", "default");
    expect(await resumed.ended).toBe(0);
    expect(await queued.ended, queued.said.err).toBe(0);
    expect(fleet).toMatch(/workers +1 alive \(version \d+\.\d+\.\d+\), 1 delegation waiting/);
    expect(fleet).toMatch(/stopped +queue default is paused\. To resume: .* queues resume default/);
    expect(fleet).not.toContain("migration");
    worker.process.kill("SIGTERM");
    expect(await worker.ended).toBe(0);
  } finally {
    await dropDatabase(url);
  }
}, 180_000);

it("prunes what earlier versions left in the queues' tables, and nothing that is open", async () => {
  const url = await freshDatabase();
  try {
    using desk = openDesk(url);
    const listed = desk.mandate("queues");
    expect(await listed.ended, listed.said.err).toBe(0);
    const insert = (id: string, status: string, at: number) =>
      execute(
        url,
        `INSERT INTO mandate_engine.workflow_status (workflow_uuid, status, name, created_at, updated_at)
         VALUES ($1, $2, 'delegation', $3, $3)`,
        [id, status, at],
      );
    const old = Date.now() - 600_000;
    for (let index = 0; index < 700; index++) await insert(`default/d${index}`, "SUCCESS", old);
    await insert("default/recent", "SUCCESS", Date.now());
    await insert("default/open", "ENQUEUED", old);
    await insert("other/old", "SUCCESS", old);
    const prune = desk.mandate("prune", "--older-than", "5m", "--json");
    expect(await prune.ended, prune.said.err).toBe(0);
    expect(JSON.parse(prune.said.out)).toMatchObject({ queued: 700, runs: [] });
    const left = await execute(
      url,
      "SELECT workflow_uuid AS id FROM mandate_engine.workflow_status ORDER BY 1",
    );
    expect(left.map(({ id }) => id)).toEqual(["default/open", "default/recent", "other/old"]);
  } finally {
    await dropDatabase(url);
  }
}, 180_000);
