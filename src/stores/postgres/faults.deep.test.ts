import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { type Clock, systemClock } from "../../ports/clock.ts";
import { ManualClock } from "../../testing/manual-clock.ts";
import {
  dropDatabase,
  execute,
  freshDatabase,
  postgresServer,
} from "../../testing/postgres.test-support.ts";
import { assertSound, collect, note, notes, StoredRun } from "../../testing/stored-run.ts";
import { startTcpProxy, type TcpProxy } from "../../testing/tcp-proxy.test-support.ts";
import { until } from "../../testing/until.ts";
import { PostgresStore, type PostgresStoreOptions } from "./postgres-store.ts";

let url: string;
let proxy: TcpProxy;
let opened: PostgresStore[];

beforeEach(async () => {
  url = await freshDatabase();
  proxy = await startTcpProxy({ port: Number(new URL(url).port) });
  opened = [];
});

afterEach(async () => {
  proxy.mend();
  for (const store of opened) await store.close();
  await proxy[Symbol.asyncDispose]();
  await dropDatabase(url);
});

async function open(
  at: string,
  options: Partial<PostgresStoreOptions> = {},
): Promise<PostgresStore> {
  const store = await PostgresStore.open({ url: at, leaseMs: 1000, pollMs: 50, ...options });
  opened.push(store);
  return store;
}

const pause = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 5));

describe("a database that goes away", () => {
  it("is reported immediately at the start, without the password", async () => {
    proxy.cut();
    const secret = new URL(proxy.through(url)).password;
    const opening = open(proxy.through(url));
    await expect(opening).rejects.toMatchObject({ code: "database-unusable" });
    const error = await opening.catch((reason: unknown) => reason as Error);
    expect(String(error)).not.toContain(secret);
    const nowhere = new URL(url);
    nowhere.port = "1";
    await expect(open(nowhere.href)).rejects.toThrow(
      /at 127\.0\.0\.1:1 cannot be used.*Check that/,
    );
    const wrong = new URL(url);
    wrong.password = "not-the-password";
    const refused = await open(wrong.href).catch((reason: unknown) => String(reason));
    expect(refused).toMatch(/user and password/);
    expect(refused).not.toContain("not-the-password");
    wrong.href = url;
    wrong.pathname = "/nothing_here";
    await expect(open(wrong.href)).rejects.toThrow(/Create it/);
  });

  it("is opened all the same when the line breaks on the way, wherever that is", async () => {
    const isQuery = (bytes: Buffer): boolean => bytes[0] === 0x51 || bytes[0] === 0x50;
    for (const fault of ["drop-reply", "cut"] as const) {
      for (let broken = 1; broken <= 6; broken++) {
        let queries = 0;
        proxy.onRequest((bytes) => (isQuery(bytes) && ++queries === broken ? fault : "pass"));
        const store = await open(proxy.through(url));
        proxy.onRequest(undefined);
        expect(queries).toBeGreaterThan(broken - 1);
        const run = await StoredRun.start(store);
        expect(run.id).toMatch(/^r/);
      }
    }
  });

  it("is waited for in mid-run: nothing is lost and nothing is written twice", async () => {
    let tries = 0;
    const clock: Clock = {
      ...systemClock,
      // Asked for before every further try.
      random: () => {
        tries += 1;
        return systemClock.random();
      },
    };
    const store = await open(proxy.through(url), { clock });
    const run = await StoredRun.start(store);
    const id = await run.child();
    const texts = Array.from({ length: 60 }, (_, index) => String(index));
    const appends: Promise<unknown>[] = [];
    for (const [index, text] of texts.entries()) {
      appends.push(run.append(note(id, text)));
      if (index % 20 === 10) proxy.drop();
      if (index === 30) proxy.cut();
      await pause();
    }
    const before = tries;
    await until("it is tried again and again", () => tries > before + 5);
    proxy.mend();
    await Promise.all(appends);
    expect(notes(await collect(store, { runId: run.id }))).toEqual(texts);
    await assertSound(store);
  });

  it("has committed or has not, and this is found out, when a commit gets no answer", async () => {
    const store = await open(proxy.through(url));
    const run = await StoredRun.start(store);
    const id = await run.child();
    const texts: string[] = [];
    for (const decision of ["drop-reply", "cut", "drop-reply", "cut"] as const) {
      let isDone = false;
      proxy.onRequest((bytes) => {
        if (isDone || !bytes.includes("COMMIT") || bytes.includes("BEGIN")) return "pass";
        isDone = true;
        return decision;
      });
      const text = `${decision} ${texts.length}`;
      texts.push(text);
      const [event] = await run.append(note(id, text));
      expect(isDone).toBe(true);
      const [stored] = (await collect(store, { runId: run.id })).slice(-1);
      expect(stored).toEqual(event);
    }
    proxy.onRequest(undefined);
    expect(notes(await collect(store, { runId: run.id }))).toEqual(texts);
    expect((await store.readRun(run.id))?.lastRunSeq).toBe(4 + texts.length);
    await assertSound(store);
  });

  it("that answers no more is given up, and others are not held up by it", async () => {
    const stalled = await open(proxy.through(url));
    const other = await open(url);
    const run = await StoredRun.start(stalled);
    const id = await run.child();
    // In the middle of a transaction, so that its server holds the lock.
    const stall = Promise.withResolvers<void>();
    proxy.onRequest((bytes) => {
      if (!bytes.includes("COMMIT")) return "pass";
      proxy.onRequest(undefined);
      proxy.stall();
      stall.resolve();
      return "pass";
    });
    const append = run.append(note(id, "stalled"));
    await stall.promise;
    const beside = await StoredRun.start(other);
    await beside.child();
    proxy.mend();
    await append;
    expect(notes(await collect(other))).toEqual(["stalled"]);
    await assertSound(other);
  });

  it("that is slow is only slow", async () => {
    const store = await open(proxy.through(url));
    proxy.delay(20);
    const run = await StoredRun.start(store);
    const id = await run.child();
    await Promise.all(Array.from({ length: 50 }, (_, index) => run.append(note(id, `${index}`))));
    expect(notes(await collect(store, { runId: run.id }))).toHaveLength(50);
  });

  it("is heard again after its line was cut, and by looking as long as it was not", async () => {
    const writer = await open(url);
    const listener = await open(proxy.through(url), { pollMs: 100 });
    const heard: number[] = [];
    listener.subscribe((events) => heard.push(...events.map(({ seq }) => seq)));
    const run = await StoredRun.start(writer);
    const id = await run.child();
    for (let round = 0; round < 30; round++) {
      if (round % 10 === 5) proxy.drop();
      await run.append(note(id, String(round)));
      await pause();
    }
    const all = await collect(writer);
    await until("all are heard", () => heard.length >= all.length);
    expect(heard).toEqual(all.map(({ seq }) => seq));
  });

  it("without a connection left is waited for", async () => {
    const role = `few_${Date.now()}`;
    await execute(url, `CREATE ROLE ${role} LOGIN PASSWORD 'x' CONNECTION LIMIT 3`);
    await execute(url, `GRANT CREATE ON DATABASE ${new URL(url).pathname.slice(1)} TO ${role}`);
    const few = new URL(url);
    few.username = role;
    few.password = "x";
    const first = await open(few.href, { poolSize: 2 });
    const run = await StoredRun.start(first);
    const id = await run.child();
    const reads = Array.from({ length: 20 }, () => collect(first, { runId: run.id }));
    await Promise.all([run.append(note(id, "in time")), ...reads]);
    expect(notes(await collect(first))).toEqual(["in time"]);
    await first.close();
    opened = [];
    await execute(url, `DROP OWNED BY ${role}; DROP ROLE ${role}`);
  });

  it("that is read-only for a while is waited for, with new connections", async () => {
    const store = await open(proxy.through(url));
    const run = await StoredRun.start(store);
    const id = await run.child();
    const name = new URL(url).pathname.slice(1);
    const { url: server } = await postgresServer();
    // As after a failover: who connects from here on finds a server that only reads.
    await execute(server, `ALTER DATABASE ${name} SET default_transaction_read_only = on`);
    proxy.drop();
    const append = run.append(note(id, "in the end"));
    let isDone = false;
    void append.finally(() => (isDone = true)).catch(() => undefined);
    let tries = 0;
    proxy.onRequest((bytes) => {
      if (bytes.includes("BEGIN")) tries += 1;
      return "pass";
    });
    await until("it is tried again and again", () => tries > 3);
    expect(isDone).toBe(false);
    await execute(server, `ALTER DATABASE ${name} RESET ALL`);
    await append;
    expect(notes(await collect(store))).toEqual(["in the end"]);
    await assertSound(store);
    // Whoever starts is told at once.
    await execute(server, `ALTER DATABASE ${name} SET default_transaction_read_only = on`);
    const clock = new ManualClock();
    await expect(open(url, { clock })).rejects.toThrow(/read-only: name the primary server/);
    await execute(server, `ALTER DATABASE ${name} RESET ALL`);
  });

  it("that is read-only, or grants too little, is refused in a sentence", async () => {
    const name = new URL(url).pathname.slice(1);
    await execute(url, `ALTER DATABASE ${name} SET default_transaction_read_only = on`);
    await expect(open(url)).rejects.toThrow(/read-only/);
    const { url: server } = await postgresServer();
    await execute(server, `ALTER DATABASE ${name} RESET ALL`);
    const role = `little_${Date.now()}`;
    await execute(url, `CREATE ROLE ${role} LOGIN PASSWORD 'x'`);
    const little = new URL(url);
    little.username = role;
    little.password = "x";
    await expect(open(little.href)).rejects.toThrow(/Grant this user CREATE/);
    await execute(url, `DROP ROLE ${role}`);
  });
});
