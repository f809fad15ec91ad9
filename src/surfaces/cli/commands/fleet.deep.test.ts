import { expect, it } from "vitest";
import { checkStore } from "../../../events/checker/check-store.ts";
import { openDesk } from "../../../stores/dbos/beside.test-support.ts";
import { PostgresStore } from "../../../stores/postgres/postgres-store.ts";
import { dropDatabase, freshDatabase } from "../../../testing/postgres.test-support.ts";
import { until } from "../../../testing/until.ts";

async function withFleet(
  use: (desk: ReturnType<typeof openDesk>, store: PostgresStore) => Promise<void>,
): Promise<void> {
  const url = await freshDatabase();
  try {
    using desk = openDesk(url);
    const store = await PostgresStore.open({ url });
    try {
      await use(desk, store);
      expect((await checkStore(store)).violations).toEqual([]);
    } finally {
      await store.close();
    }
  } finally {
    await dropDatabase(url);
  }
}

type Desk = ReturnType<typeof openDesk>;

async function say(desk: Desk, ...words: readonly string[]): Promise<string> {
  const process = desk.mandate(...words);
  expect(await process.ended, process.said.err).toBe(0);
  return process.said.out;
}

const json = async (desk: Desk, ...words: readonly string[]) =>
  JSON.parse(await say(desk, ...words, "--json"));

/** Some twenty processes, one after the other. */
const timeout = 240_000;

it("pauses a queue and drains workers from outside, until they are resumed", {
  timeout,
}, async () => {
  await withFleet(async (desk, store) => {
    const worker = desk.mandate("worker", "--health", "0");
    await worker.printed("takes work");
    const logged = (code: string) => until(code, () => worker.said.err.includes(`"${code}"`));
    await logged("worker_started");
    const [, port = ""] = /metrics are on port (\d+)/.exec(worker.said.err) ?? [];
    const ready = async () => (await fetch(`http://127.0.0.1:${port}/readyz`)).status;
    const { workers } = await json(desk, "workers");
    expect(workers).toMatchObject([{ isAlive: true, version: "0.1.0", drainedBy: null }]);
    const name = String(workers[0].worker);

    for (const [stop, resume, codes, isReady] of [
      [
        ["queues", "pause", "default"],
        ["queues", "resume", "default"],
        ["queue_paused", "queue_resumed"],
        200,
      ],
      [
        ["workers", "drain", name],
        ["workers", "resume", name],
        ["worker_drained", "worker_undrained"],
        503,
      ],
      [
        ["workers", "drain", "0.1.0"],
        ["workers", "resume", "0.1.0"],
        ["worker_drained", "worker_undrained"],
        503,
      ],
    ] as const) {
      const before = worker.said.err.length;
      await say(desk, ...stop);
      await until(codes[0], () => worker.said.err.slice(before).includes(codes[0]));
      expect(await ready()).toBe(isReady);
      const client = desk.mandate("run", "--trust-folder", "--quiet", "Count the boats");
      const waiting = async () => (await json(desk, "queues")).queues[0].waiting as number;
      await until("the run waits in its queue", async () => (await waiting()) === 1);
      await say(desk, ...resume);
      expect(await client.ended, client.said.err).toBe(0);
      await until(codes[1], () => worker.said.err.slice(before).includes(codes[1]));
      expect(await ready()).toBe(200);
    }
    await say(desk, "queues", "pause", "default");
    expect(await say(desk, "queues", "pause", "default")).toBe(
      "default takes no new work, as before.\n",
    );
    expect(await say(desk, "queues")).toMatch(/default +paused by local +0/);
    expect(await store.listRecords("stop")).toMatchObject([
      { resourceId: "queue/default", updatedBy: "local" },
    ]);
    for (const words of [
      ["queues", "pause", "nope"],
      ["workers", "drain", "nope"],
    ]) {
      const wrong = desk.mandate(...words);
      expect([await wrong.ended, wrong.said.err]).toEqual([
        2,
        expect.stringContaining("There is no"),
      ]);
    }
    worker.process.kill("SIGTERM");
    expect(await worker.ended).toBe(0);
  });
});

it("sets limits that running workers keep to, and shows what is used", { timeout }, async () => {
  await withFleet(async (desk, store) => {
    const worker = desk.mandate("worker");
    await worker.printed("takes work");
    await say(desk, "limits", "set", "tenant", "--requests-per-minute", "1");
    const first = desk.mandate("run", "--trust-folder", "--quiet", "Count the boats");
    expect(await first.ended, first.said.err).toBe(0);
    const { limits } = await json(desk, "limits");
    expect(limits).toMatchObject([
      {
        scope: "tenant",
        value: { requestsPerMinute: 1 },
        version: 1,
        setBy: "local",
        used: { requestsPerMinute: 1 },
      },
    ]);
    const second = desk.mandate("run", "--trust-folder", "--quiet", "Count the gulls");
    const runs = async () => store.listRuns({ open: true });
    const paused = async () => {
      for (const { id } of await runs()) {
        for await (const { payload, type } of store.readEvents({ runId: id })) {
          if (type === "agent.paused" && payload.reason === "limit") return true;
        }
      }
      return false;
    };
    await until("the second run waits under the limit", paused);
    // It waits without a place, and continues when the limit is raised.
    await until("the second run has no place", async () => {
      const [queue] = (await json(desk, "queues")).queues;
      return queue.working === 0 && queue.suspended === 1;
    });
    await say(desk, "limits", "set", "tenant", "--requests-per-minute", "100");
    expect(await second.ended, second.said.err).toBe(0);
    expect(await say(desk, "limits")).toMatch(
      /^tenant {2}2 of 100 requests a minute {2}set by local/,
    );
    await say(desk, "limits", "remove", "tenant");
    expect(await json(desk, "limits")).toEqual({ limits: [] });
    worker.process.kill("SIGTERM");
    expect(await worker.ended).toBe(0);
  });
});
