import assert from "node:assert/strict";
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { join } from "node:path";
import { afterEach, beforeEach, describe, it } from "vitest";
import { openStore } from "../../../open-store.ts";
import type { Store } from "../../../ports/store.ts";
import { startBeside } from "../../../stores/sqlite/process-beside.test-support.ts";
import { ManualClock } from "../../../testing/manual-clock.ts";
import { collect, note, StoredRun } from "../../../testing/stored-run.ts";
import { testFolder } from "../../../testing/test-folder.test-support.ts";
import { until as untilTrue } from "../../../testing/until.ts";
import { openStreams, StreamReader, until } from "./sse-server.test-support.ts";

let folder: string;
let store: Store;

beforeEach(async () => {
  folder = testFolder();
  store = await openStore({ database: join(folder, "log.db"), synchronous: "normal" });
});

afterEach(() => store.close());

/** A client that asks, and takes nothing of the answer. */
async function stall(origin: string, path: string): Promise<Socket> {
  const { hostname, port } = new URL(origin);
  const socket = connect(Number(port), hostname);
  socket.on("error", () => undefined);
  await once(socket, "connect");
  socket.pause();
  socket.write(`GET ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n`);
  return socket;
}

async function write(run: StoredRun, id: string, count: number, size: number): Promise<void> {
  const text = "x".repeat(size);
  for (let number = 0; number < count; number++) await run.append(note(id, text));
}

describe("a client that takes nothing", () => {
  it("is dropped while it is told the past, and later misses nothing of it", async () => {
    const run = await StoredRun.start(store);
    const id = await run.child();
    await write(run, id, 500, 30_000);
    const clock = new ManualClock();
    await using streams = await openStreams(store, {
      clock,
      limits: { stallMs: 300, sweepMs: 20 },
    });
    const socket = await stall(streams.origin, "/events?after=0");
    await untilTrue("the client is dropped", async () => {
      await clock.advance(20);
      return streams.hub.events.dropped.stalled === 1;
    });
    await until(() => streams.hub.events.size === 0);
    socket.destroy();
    const back = new StreamReader(`${streams.origin}/events?after=0`);
    const log = await collect(store);
    await until(() => back.told.length === log.length);
    assert.deepEqual(
      back.told.map((one) => (one as { hash: string }).hash),
      log.map(({ hash }) => hash),
    );
    back.close();
  });

  it("is left alone as long as there is little that it did not take", async () => {
    const run = await StoredRun.start(store);
    const id = await run.child();
    const clock = new ManualClock();
    const limits = { lagMs: 10, sweepMs: 5, stallMs: 50 };
    await using streams = await openStreams(store, { clock, limits });
    const socket = await stall(streams.origin, "/events");
    await until(() => streams.hub.events.size === 1);
    await write(run, id, 20, 30_000);
    await clock.advance(300);
    assert.equal(streams.hub.events.size, 1);
    const got = await new Promise<number>((resolve) => {
      let bytes = 0;
      socket.on("data", (chunk) => {
        bytes += chunk.length;
        if (bytes > 600_000) resolve(bytes);
      });
      socket.resume();
    });
    assert.ok(got > 600_000);
    socket.destroy();
  });
});

it("a client hears what several processes write, in the order of the log", async () => {
  await using streams = await openStreams(store);
  const heard: number[] = [];
  const reader = new StreamReader(`${streams.origin}/events?after=0`, {}, ({ id, data }) => {
    if (data !== undefined) heard.push(Number(id));
  });
  const script = new URL("../../../stores/sqlite/write-beside.test-support.ts", import.meta.url);
  const processes = [1, 2, 3].map(() => startBeside(script, [join(folder, "log.db"), 60]));
  const run = await StoredRun.start(store);
  const id = await run.child();
  await write(run, id, 60, 100);
  for (const { ended } of processes) assert.equal(await ended, 0);
  const log = (await collect(store)).map(({ seq }) => seq);
  assert.equal(log.length, 4 * 64);
  await until(() => heard.length >= log.length);
  assert.deepEqual(heard, log);
  reader.close();
});
