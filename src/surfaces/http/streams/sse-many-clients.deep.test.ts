import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { once } from "node:events";
import { request as httpRequest } from "node:http";
import { connect } from "node:net";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { it } from "vitest";
import { openStore } from "../../../open-store.ts";
import { collect } from "../../../testing/stored-run.ts";
import { testFolder } from "../../../testing/test-folder.test-support.ts";
import { eventFrame, openingFrame } from "./sse-ring.ts";
import { StreamReader, until } from "./sse-server.test-support.ts";

interface Memory {
  readonly rss: number;
  readonly used: number;
  readonly clients: number;
  /** The last event that clients were told. */
  readonly last: number;
  readonly dropped: { readonly lagging: number };
}

const megabyte = 1024 * 1024;

/** A client that takes everything and remembers no more of it than how it could be told apart. */
class DigestReader {
  readonly hash = createHash("sha256");
  bytes = 0;
  readonly #request: ReturnType<typeof httpRequest>;

  constructor(url: string) {
    this.#request = httpRequest(url, { agent: false }, (response) => {
      response.on("data", (chunk: Buffer) => {
        this.hash.update(chunk);
        this.bytes += chunk.length;
      });
      response.on("error", () => undefined);
    });
    this.#request.on("error", () => undefined);
    this.#request.end();
  }

  close(): void {
    this.#request.destroy();
  }
}

it("lets one of two hundred clients stall without anybody paying for it or missing anything", async () => {
  const database = join(testFolder(), "log.db");
  const script = fileURLToPath(new URL("./sse-process.test-support.ts", import.meta.url));
  // The room for young objects has its whole size from the beginning: growing it is nobody's cost.
  const flags = ["--expose-gc", "--min-semi-space-size=16", "--max-semi-space-size=16"];
  const server = spawn(process.execPath, [...flags, script, database], {
    stdio: ["pipe", "pipe", "inherit"],
  });
  const answers: unknown[] = [];
  const lines = createInterface({ input: server.stdout });
  lines.on("line", (line) => answers.push(JSON.parse(line)));
  const ask = async <Answer>(line: string): Promise<Answer> => {
    const before = answers.length;
    server.stdin.write(`${line}\n`);
    await until(() => answers.length > before);
    return answers.at(-1) as Answer;
  };
  /** Every client has every byte of the log, and no other. */
  const everybodyIsTold = async (): Promise<string> => {
    const store = await openStore({ database });
    const frames = (await collect(store)).map(eventFrame);
    await store.close();
    const whole = Buffer.concat([openingFrame(0), ...frames]);
    await until(() => readers.every(({ bytes }) => bytes >= whole.length));
    return createHash("sha256").update(whole).digest("hex");
  };
  const readers: DigestReader[] = [];
  try {
    await until(() => answers.length === 1);
    const { origin } = answers[0] as { origin: string };
    for (let count = 0; count < 199; count++) {
      readers.push(new DigestReader(`${origin}/events?after=0`));
    }
    // As much as later, until what 199 clients cost has been paid: an allocator takes its time.
    let before = await ask<Memory>("memory");
    for (let isSettled = false, round = 0; !isSettled && round < 10; round++) {
      await ask("write 160 16000");
      await everybodyIsTold();
      const next = await ask<Memory>("memory");
      isSettled = next.rss - before.rss < megabyte / 2;
      before = next;
    }
    assert.equal(before.clients, 199);

    const { hostname, port } = new URL(origin);
    const stalled = connect(Number(port), hostname);
    await once(stalled, "connect");
    const place = String(before.last);
    stalled.write(`GET /events HTTP/1.1\r\nHost: 127.0.0.1\r\nLast-Event-ID: ${place}\r\n\r\n`);
    await once(stalled, "readable");
    stalled.pause();
    await ask("write 100 16000");
    const during = await ask<Memory>("memory");
    assert.equal(during.clients, 200);
    // What the kernel takes for it, and more than it may be behind.
    let after = during;
    for (let more = 0; after.clients === 200 && more < 20; more++) {
      await ask("write 60 16000");
      after = await ask<Memory>("memory");
    }
    const expected = await everybodyIsTold();
    for (const reader of readers) assert.equal(reader.hash.digest("hex"), expected);
    after = await ask<Memory>("memory");
    assert.equal(after.clients, 199);
    assert.deepEqual(after.dropped, { lagging: 1, stalled: 0 });
    const cost = Math.max(during.rss, after.rss) - before.rss;
    assert.ok(cost < 4 * megabyte, `it cost ${(cost / megabyte).toFixed(1)} MB`);
    stalled.destroy();

    const back = new StreamReader(`${origin}/events`, { "Last-Event-ID": place });
    const store = await openStore({ database });
    const log = await collect(store, { after: before.last });
    await store.close();
    await until(() => back.told.length === log.length);
    assert.deepEqual(
      back.told.map((one) => (one as { hash: string }).hash),
      log.map(({ hash }) => hash),
    );
    back.close();
  } finally {
    for (const reader of readers) reader.close();
    server.stdin.end();
    await once(server, "exit");
  }
}, 90_000);
