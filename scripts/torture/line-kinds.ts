import { setTimeout as sleep } from "node:timers/promises";
import { startTcpProxy } from "../../src/testing/tcp-proxy.test-support.ts";
import type { Job } from "./job.ts";
import type { Kind } from "./kind.ts";
import { KnownRun } from "./known-run.ts";
import type { PostgresPlace } from "./postgres-place.ts";
import type { StorePlace } from "./store-place.ts";
import { tortureRun } from "./torture-run.ts";

const cuts = ["cut", "drop-reply"] as const;

/** The connection ends before a commit arrives, or before its answer does: nobody knows which. */
export const cutLines: Kind = {
  name: "line",
  does: "loses its connection at one of its commits, before it arrives or before it is answered",
  stores: ["postgres"],
  rounds: { usual: 16, long: "all" },
  job: { children: 3, rounds: 1, speed: 2 },
  points: ({ commits }) =>
    Array.from({ length: commits }, (_, index) => cuts.map((how) => `${how} ${index + 1}`)).flat(),
  async play({ name, point, ground }) {
    const [how, number] = point.split(" ");
    await using proxy = await startTcpProxy({ port: serverOf(ground.place).port });
    let commits = 0;
    proxy.onRequest((bytes) => {
      if (!bytes.includes("COMMIT") || bytes.includes("BEGIN")) return "pass";
      commits += 1;
      return commits === Number(number) ? (how as (typeof cuts)[number]) : "pass";
    });
    const through = (job: Job): Job => ({
      ...job,
      ...(job.postgres && {
        postgres: { ...job.postgres, url: proxy.through(job.postgres.url) },
      }),
    });
    await tortureRun(name, () => ({ kind: "lives" }), ground, { through });
  },
};

/** A server that goes away and comes back is waited for, however it went. */
export const serverRestarts: Kind = {
  name: "restart",
  does: "has its database server stopped or crashed, and started again, three times",
  stores: ["postgres"],
  rounds: { usual: 4, long: 60 },
  job: { children: 8, rounds: 5, speed: 1 },
  // All of them have the same server.
  isAlone: true,
  async play({ name, random, ground }) {
    const server = serverOf(ground.place);
    let isOver = false;
    const known = new KnownRun();
    const restarting = (async () => {
      // A server that is away when a process starts is told at once, and not waited for.
      while (known.acknowledged.length === 0 && !isOver) await sleep(10);
      for (let count = 0; count < 3 && !isOver; count++) {
        await server.restart(random() < 0.5 ? "fast" : "immediate");
        await sleep(random() * 900);
      }
    })();
    try {
      await tortureRun(name, () => ({ kind: "lives" }), ground, {
        known,
        beforeLook: () => restarting,
      });
    } finally {
      isOver = true;
      await restarting;
    }
  },
};

function serverOf(place: StorePlace): PostgresPlace["server"] {
  if ("server" in place) return (place as PostgresPlace).server;
  throw new Error("Only Postgres has a server.");
}
