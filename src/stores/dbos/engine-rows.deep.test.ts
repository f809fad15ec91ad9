import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { EngineConfig } from "../../control/config.ts";
import { systemClock } from "../../ports/clock.ts";
import { dropDatabase, execute, freshDatabase } from "../../testing/postgres.test-support.ts";
import { until } from "../../testing/until.ts";
import { schemaNameOf } from "../postgres/database-place.ts";
import { PostgresStore } from "../postgres/postgres-store.ts";
import { DbosDispatcher } from "./dbos-dispatcher.ts";
import { type TakeOver, takeOverLost } from "./tenant-hand.ts";

const table = "mandate_engine.workflow_status";
const config = {
  kind: "dbos",
  workspaces: "shared",
  schema: "mandate_engine",
  queues: {},
} as const;

let url: string;
let opened: { close(): Promise<void> }[];

beforeEach(async () => {
  url = await freshDatabase();
  opened = [];
});

afterEach(async () => {
  for (const one of opened) await one.close();
  await dropDatabase(url);
});

async function openQueues(tenant = "-", queues: EngineConfig["queues"] = {}) {
  const storeSchema = schemaNameOf(tenant === "-" ? undefined : tenant).quoted;
  const dispatcher = await DbosDispatcher.open({
    ...{ url, tenant, storeSchema, config: { ...config, queues } },
  });
  opened.push(dispatcher);
  return dispatcher;
}

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
async function take(count: number, executor: string, tenant = "-"): Promise<void> {
  const { rows } = await send(count, executor, tenant);
  const taken = await rows.take({
    queue: "default",
    executor,
    most: count,
    except: [],
    limits: {},
  });
  expect(taken.length).toBe(count);
}

async function send(count: number, prefix: string, tenant = "-", profile = "general") {
  const dispatcher = await openQueues(tenant, { gpu: { profiles: ["renderer"], concurrency: 3 } });
  const work = { runId: "r1", depth: 0, profile, provider: "none" };
  await Promise.all(
    Array.from({ length: count }, (_, one) =>
      dispatcher.dispatch({ ...work, delegationId: `${prefix}-${one}` }),
    ),
  );
  return dispatcher;
}

/** How many are how: `a PENDING 3`. */
async function standing(): Promise<readonly string[]> {
  const rows = await execute(
    url,
    `SELECT coalesce(executor_id, split_part(split_part(workflow_uuid, '/', 3), '-', 1)) || ' ' || status || ' ' || count(*) AS line
     FROM ${table} GROUP BY coalesce(executor_id, split_part(split_part(workflow_uuid, '/', 3), '-', 1)), status ORDER BY 1`,
  );
  return rows.map(({ line }) => String(line));
}

const look = async (store: PostgresStore, { tenant = "-", ...more }: Look = {}) => {
  const { rows } = await openQueues(tenant);
  return (await takeOverLost({ rows, store, self: "survivor", clock: systemClock, ...more }))
    .length;
};

type Look = Partial<TakeOver> & { readonly tenant?: string };

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

  it("takes nothing while the lease of the executor that looks has expired", async () => {
    const [survivor, dead] = [await open("survivor"), await open("dead")];
    await take(2, "survivor");
    await take(2, "dead");
    await expire(survivor);
    await expire(dead);
    expect(await look(survivor)).toBe(0);
    expect(await standing()).toEqual(["dead PENDING 2", "survivor PENDING 2"]);
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
    expect(await look(ours, { tenant: "a_b", self: "ours" })).toBe(0);
    await expire(theirs, "1 minute", "mandate_axb");
    expect(await look(ours, { tenant: "a_b", self: "ours" })).toBe(0);
    expect(await standing()).toEqual(["ours PENDING 2", "theirs PENDING 2"]);
  });

  it("finds the work of unknown executors", async () => {
    const survivor = await open("survivor");
    await take(600, "survivor");
    await take(4, "stranger");
    expect(await look(survivor)).toBe(4);
    expect(await standing()).toEqual(["stranger ENQUEUED 4", "survivor PENDING 600"]);
  });
});

describe("an overview of the queues", { timeout: 180_000 }, () => {
  it("counts one tenant's work by queue, state and executor, with the configured limits", async () => {
    await take(3, "worker-one");
    await take(2, "worker-two");
    await take(5, "stranger", "acme");
    const queues = await send(2, "later", "-", "renderer");
    await queues.rows.mark("worker-two", {
      suspended: [{ runId: "r1", delegationId: "worker-two-0" }],
      working: [],
    });
    const overview = await queues.overview();
    expect(Object.fromEntries(overview.taken)).toEqual({ "worker-one": 3, "worker-two": 2 });
    const none = { all: null, worker: null, tenant: null };
    const idle = { waiting: 0, working: 0, suspended: 0, waitingSince: null };
    expect(overview.queues).toEqual([
      { ...idle, name: "default", working: 4, suspended: 1, limits: none },
      {
        ...{ ...idle, name: "gpu", waiting: 2, waitingSince: expect.any(Number) },
        limits: { ...none, all: 3 },
      },
    ]);
  });
});

describe("the rows of a queue", { timeout: 180_000 }, () => {
  const request = { queue: "gpu", executor: "w", except: [], limits: { all: 3 } };

  it("are taken up to the limit of all workers, which suspended ones do not count for", async () => {
    const { rows } = await send(9, "one", "-", "renderer");
    const takes = Array.from({ length: 4 }, () => rows.take({ ...request, most: 2 }));
    const taken = (await Promise.all(takes)).flat();
    expect(taken.length).toBe(3);
    await rows.mark("w", { suspended: taken.slice(0, 2), working: [] });
    expect((await rows.take({ ...request, most: 9 })).length).toBe(2);
    await rows.finish(taken.slice(2));
    expect((await rows.take({ ...request, most: 9 })).length).toBe(1);
  });

  it("are given to one worker each, however many take at once", async () => {
    const { rows } = await send(100, "one");
    const take = (executor: string) =>
      rows.take({ queue: "default", executor, most: 20, except: [], limits: {} });
    const taken = (await Promise.all(["a", "b", "c", "d", "e", "f"].map(take))).flat();
    const ids = taken.map(({ delegationId }) => delegationId);
    expect(new Set(ids).size).toBe(ids.length);
    let count = ids.length;
    for (let more = 1; more > 0; count += more) more = (await take("g")).length;
    expect(count).toBe(100);
  });

  it("are left to others where they cannot be worked on, and can be given back", async () => {
    const { rows } = await send(1, "one");
    const here = { queue: "default", executor: "w", most: 5, limits: {} };
    const taken = await rows.take({ ...here, except: [] });
    await rows.giveBack(taken, "w");
    expect(await rows.take({ ...here, except: taken })).toEqual([]);
    expect(await rows.take({ ...here, executor: "other", except: [] })).toEqual(taken);
    expect(await rows.isHeld(taken[0] ?? { runId: "", delegationId: "" }, "w")).toBe(false);
  });

  it("of an earlier version, in a queue for every depth, are moved into the queue", async () => {
    const dispatcher = await openQueues();
    await open();
    const work = JSON.stringify({ tenant: "default", runId: "r7", delegationId: "d7", sentOn: 1 });
    await execute(
      url,
      `SELECT mandate_engine.enqueue_workflow(workflow_name => 'delegation',
         queue_name => 'mandate-gpu-2', workflow_id => 'default/d7/1', positional_args => ARRAY[$1::json])`,
      [work],
    );
    await dispatcher.adoptEarlier();
    const [taken] = await dispatcher.rows.take({ ...request, most: 5 });
    expect(taken).toEqual({ runId: "r7", delegationId: "d7" });
  });
});
