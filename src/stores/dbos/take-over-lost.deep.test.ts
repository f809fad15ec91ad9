import { DBOSClient } from "@dbos-inc/dbos-sdk";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { systemClock } from "../../ports/clock.ts";
import { dropDatabase, execute, freshDatabase } from "../../testing/postgres.test-support.ts";
import { until } from "../../testing/until.ts";
import { PostgresStore } from "../postgres/postgres-store.ts";
import { DbosDispatcher } from "./dbos-dispatcher.ts";
import { type TakeOver, takeOverLost } from "./dbos-worker.ts";
import { applicationName, engineSchema, quietLogger } from "./load-dbos.ts";

const queue = "mandate-default-0";
const table = `${engineSchema}.workflow_status`;

let url: string;
let engine: DBOSClient;
let opened: { close(): Promise<void> }[];

beforeEach(async () => {
  url = await freshDatabase();
  opened = [];
  const config = { kind: "dbos", workspaces: "shared", queues: {} } as const;
  opened.push(await DbosDispatcher.open({ url, tenant: "default", config }));
  engine = await DBOSClient.create({
    systemDatabaseUrl: url,
    systemDatabaseSchemaName: engineSchema,
    applicationName,
    logger: quietLogger(() => undefined, systemClock),
  });
});

afterEach(async () => {
  await engine.destroy();
  for (const one of opened) await one.close();
  await dropDatabase(url);
});

async function open(executor?: string, tenant?: string): Promise<PostgresStore> {
  const options = { url, leaseMs: 60_000, ...(tenant !== undefined && { tenant }) };
  const store = await PostgresStore.open(options);
  opened.push(store);
  if (executor !== undefined) await store.executors.enlist(executor);
  return store;
}

const expire = ({ ownership }: PostgresStore, ago = "1 minute", schema = "mandate") =>
  execute(url, `UPDATE ${schema}.workers SET expires_at = now() - $2::interval WHERE id = $1`, [
    ownership.worker,
    ago,
  ]);

/** So many delegations of a tenant that an executor has taken. */
async function take(count: number, executor: string, tenant = "default"): Promise<void> {
  await engine.enqueue(
    { queueName: queue, workflowName: "delegation", workflowID: `${tenant}/${executor}-1` },
    { tenant },
  );
  await execute(
    url,
    `UPDATE ${table} SET status = 'PENDING', executor_id = '${executor}' WHERE workflow_uuid = '${tenant}/${executor}-1'`,
  );
  if (count === 1) return;
  const columns = await execute(
    url,
    `SELECT string_agg(quote_ident(column_name), ',') AS all FROM information_schema.columns
     WHERE table_schema = '${engineSchema}' AND table_name = 'workflow_status'
       AND column_name <> 'workflow_uuid' AND is_generated = 'NEVER'`,
  );
  await execute(
    url,
    `INSERT INTO ${table} (workflow_uuid, ${columns[0]?.["all"]})
     SELECT '${tenant}/${executor}-' || n, ${columns[0]?.["all"]} FROM ${table}, generate_series(2, ${count}) n
     WHERE workflow_uuid = '${tenant}/${executor}-1'`,
  );
}

/** How many are how: `a PENDING 3`. */
async function standing(): Promise<readonly string[]> {
  const rows = await execute(
    url,
    `SELECT executor_id || ' ' || status || ' ' || count(*) AS line FROM ${table} GROUP BY executor_id, status ORDER BY 1`,
  );
  return rows.map(({ line }) => String(line));
}

const look = (store: PostgresStore, more: Partial<TakeOver> = {}) =>
  takeOverLost({ engine, store, tenant: "default", self: "survivor", clock: systemClock, ...more });

const executorsOf = async (store: PostgresStore) =>
  (await store.workers()).flatMap(({ executor }) => executor ?? []);

describe("takeOverLost", { timeout: 180_000 }, () => {
  it("puts back what the dead had taken, however much the living have", async () => {
    const [survivor, dead] = [await open("survivor"), await open("dead")];
    // Those who live are older, and more than any page.
    await take(1500, "survivor");
    await take(1200, "dead");
    expect(await look(survivor)).toBe(0);
    await expire(dead);
    expect(await look(survivor)).toBe(1200);
    expect(await standing()).toEqual(["dead ENQUEUED 1200", "survivor PENDING 1500"]);
    expect(await look(survivor)).toBe(0);
    expect(await executorsOf(survivor)).toEqual(["survivor"]);
  });

  it("does so for one that left in order, and for one that was declared dead", async () => {
    const [survivor, left, claimed] = [await open("survivor"), await open("left"), await open("x")];
    await take(2, "left");
    await take(3, "x");
    await left.close();
    await execute(url, "DELETE FROM mandate.workers WHERE id = $1", [claimed.ownership.worker]);
    // It comes back under another lease before anybody looked.
    await until("the worker is back", async () => {
      await claimed
        .append({ runId: claimed.newRunId(), by: claimed.ownership, events: [] })
        .catch(() => undefined);
      const workers = await survivor.workers();
      return workers.some(({ executor, isAlive }) => executor === "x" && isAlive);
    });
    expect(await look(survivor)).toBe(2);
    expect(await standing()).toEqual(["left ENQUEUED 2", "x PENDING 3"]);
    expect(await executorsOf(survivor)).toEqual(["survivor", "x"]);
  });

  it("takes nothing from the executor that looks, even if its own lease expired while it was stopped", async () => {
    const [survivor, dead] = [await open("survivor"), await open("dead")];
    await take(2, "survivor");
    await take(2, "dead");
    await expire(survivor);
    await expire(dead);
    expect(await look(survivor, { isThorough: true })).toBe(2);
    expect(await standing()).toEqual(["dead ENQUEUED 2", "survivor PENDING 2"]);
  });

  it("forgets no executor whose lease has just expired", async () => {
    const [survivor, late] = [await open("survivor"), await open("late")];
    await take(1, "late");
    await expire(late, "1 second");
    expect(await look(survivor)).toBe(1);
    expect(await executorsOf(survivor)).toEqual(["survivor", "late"]);
    await expire(late, "1 minute");
    expect(await look(survivor)).toBe(0);
    expect(await executorsOf(survivor)).toEqual(["survivor"]);
    expect(await survivor.isWorkerAlive(late.ownership.worker)).toBe(false);
  });

  it("leaves what another tenant's workers have to those who know them", async () => {
    const ours = await open("ours", "a_b");
    const theirs = await open("theirs", "axb");
    await take(2, "ours", "a_b");
    await take(2, "theirs", "axb");
    expect(await look(ours, { tenant: "a_b", isThorough: true })).toBe(0);
    await expire(theirs, "1 minute", "mandate_axb");
    expect(await look(ours, { tenant: "a_b", isThorough: true })).toBe(0);
    expect(await standing()).toEqual(["ours PENDING 2", "theirs PENDING 2"]);
  });

  it("finds the work of unknown executors when it looks thoroughly", async () => {
    const survivor = await open("survivor");
    await take(600, "survivor");
    await take(4, "stranger");
    expect(await look(survivor)).toBe(0);
    expect(await look(survivor, { isThorough: true })).toBe(4);
    expect(await standing()).toEqual(["stranger ENQUEUED 4", "survivor PENDING 600"]);
  });
});

describe("an overview of the queues", { timeout: 180_000 }, () => {
  it("counts one tenant's work, and shows the limits that workers registered", async () => {
    await take(3, "worker-one");
    await take(2, "worker-two");
    await take(5, "stranger", "acme");
    const waiting = { queueName: "mandate-gpu-1", workflowName: "delegation" };
    await engine.enqueue({ ...waiting, workflowID: "default/waits" }, {});
    await engine.enqueue({ ...waiting, workflowID: "default/later", delaySeconds: 100 }, {});
    await engine.registerQueue("mandate-gpu-1", { globalConcurrency: 4, workerConcurrency: 2 });
    const queues = { batch: { profiles: ["archivist"], concurrency: 9 } };
    const config = { kind: "dbos", workspaces: "shared", queues } as const;
    const dispatcher = await DbosDispatcher.open({ url, tenant: "default", config });
    opened.push(dispatcher);
    const overview = await dispatcher.overview();
    expect(overview.isComplete).toBe(true);
    expect(Object.fromEntries(overview.taken)).toEqual({ "worker-one": 3, "worker-two": 2 });
    const none = { all: null, worker: null, tenant: null };
    expect(overview.queues).toEqual([
      { name: "default", waiting: 0, working: 5, waitingSince: null, limits: none },
      { name: "batch", waiting: 0, working: 0, waitingSince: null, limits: { ...none, all: 9 } },
      {
        ...{ name: "gpu", waiting: 2, working: 0, waitingSince: expect.any(Number) },
        limits: { all: 4, worker: 2, tenant: null },
      },
    ]);
  });
});
