import { createServer } from "node:net";
import { expect, it } from "vitest";
import { type Beside, openDesk } from "../../stores/dbos/beside.test-support.ts";
import { freePort } from "../../testing/embedded-server.test-support.ts";
import { dropDatabase, freshDatabase } from "../../testing/postgres.test-support.ts";
import { startTcpProxy, type TcpProxy } from "../../testing/tcp-proxy.test-support.ts";
import { until } from "../../testing/until.ts";

interface Line {
  readonly time: string;
  readonly level: string;
  readonly code: string;
  readonly message: string;
  readonly worker?: string;
  readonly run?: string;
  readonly delegation?: string;
  readonly error?: string;
}

const linesOf = ({ said }: Beside): readonly Line[] =>
  said.err
    .split("\n")
    .filter(Boolean)
    .map((line) => JSON.parse(line) as Line);

const codesOf = (process: Beside): readonly string[] => linesOf(process).map(({ code }) => code);

async function logged(process: Beside, code: string): Promise<Line> {
  await until(`${code} is logged`, () => codesOf(process).includes(code));
  return linesOf(process).find((line) => line.code === code) ?? ({} as Line);
}

/** The port that the process said in its log. */
async function healthPort(process: Beside, code: string): Promise<number> {
  const { message } = await logged(process, code);
  return Number(/metrics are on port (\d+)/.exec(message)?.[1]);
}

async function statusOf(port: number, path: string): Promise<number> {
  const response = await fetch(`http://127.0.0.1:${port}${path}`);
  await response.body?.cancel();
  return response.status;
}

async function withDatabase(use: (url: string, proxy: TcpProxy) => Promise<void>): Promise<void> {
  const url = await freshDatabase();
  await using proxy = await startTcpProxy({ port: Number(new URL(url).port) });
  try {
    await use(url, proxy);
  } finally {
    await dropDatabase(url);
  }
}

it("tells operators of workers and servers, in lines and at probes, when the database is gone and back", async () => {
  await withDatabase(async (url, proxy) => {
    using desk = openDesk(proxy.through(url));
    const worker = desk.mandate("worker", "--health", "0");
    const server = desk.mandate("serve", "--trust-folder", "--port", "0", "--health", "0");
    const ports = await Promise.all([
      healthPort(worker, "worker_started"),
      healthPort(server, "server_started"),
    ]);
    for (const port of ports) {
      expect(await statusOf(port, "/healthz")).toBe(200);
      expect(await statusOf(port, "/readyz")).toBe(200);
      expect(await statusOf(port, "/metrics")).toBe(200);
      expect(await statusOf(port, "/runs")).toBe(404);
    }
    const client = desk.mandate("run", "--trust-folder", "--quiet", "Count the boats");
    expect(await client.ended, client.said.err).toBe(0);
    const claim = await logged(worker, "delegation_claimed");
    expect(claim).toMatchObject({
      time: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/),
      level: "info",
      worker: expect.stringMatching(/^[0-9a-f]{24}$/),
      run: expect.stringMatching(/^r/),
      delegation: expect.any(String),
    });
    const metrics = await (await fetch(`http://127.0.0.1:${ports[0]}/metrics`)).text();
    expect(metrics).toMatch(/mandate_log_entries_total\{code="delegation_claimed".*\} 1\n/);
    expect(metrics).toContain('mandate_queue_delegations{queue="default",state="waiting"} 0');
    expect(metrics).toContain('mandate_workers{state="alive",takes_work="yes"} 1');

    proxy.cut();
    for (const [index, process] of [worker, server].entries()) {
      await logged(process, "database_lost");
      const port = ports[index] ?? 0;
      await until("it is not ready", async () => (await statusOf(port, "/readyz")) === 503);
      expect(await statusOf(port, "/healthz")).toBe(200);
    }
    proxy.mend();
    for (const [index, process] of [worker, server].entries()) {
      await logged(process, "database_back");
      const port = ports[index] ?? 0;
      await until("it is ready", async () => (await statusOf(port, "/readyz")) === 200);
    }
    worker.process.kill("SIGTERM");
    expect(await worker.ended).toBe(0);
    // Every line parsed, and none is a sentence of a library.
    const codes = new Set([...codesOf(worker), ...codesOf(server)]);
    expect([...codes].filter((code) => !/^[a-z_]+$/.test(code))).toEqual([]);
    expect(worker.said.err).not.toMatch(/DBOS|notifications client|Connection terminated/);
    expect(codesOf(worker).at(-1)).toBe("worker_stopping");
  });
});

it("waits at the start for a database that is not there yet, and says so, but not without end", async () => {
  await withDatabase(async (url, proxy) => {
    proxy.cut();
    using desk = openDesk(proxy.through(url));
    const patient = desk.mandate("worker", "--wait-for-database", "60s");
    const waiting = await logged(patient, "database_waiting");
    expect(waiting.message).toMatch(/does not answer yet\. Waiting up to (60|59) s\.$/);
    const hasty = desk.mandate("worker", "--wait-for-database", "0s");
    expect(await hasty.ended).toBe(1);
    expect(hasty.said.err).toContain("cannot be used");
    proxy.mend();
    await patient.printed("takes work");
    patient.process.kill("SIGTERM");
    expect(await patient.ended).toBe(0);
  });
});

it("names a port that is taken, for probes and for the log's format", async () => {
  await withDatabase(async (url) => {
    using desk = openDesk(url);
    const port = await freePort();
    const taken = createServer().listen(port, "127.0.0.1");
    try {
      const worker = desk.mandate("worker", "--health", String(port));
      expect(await worker.ended).toBe(2);
      expect(worker.said.err).toContain(
        `Port ${port} is already in use. Choose another port with --health.`,
      );
    } finally {
      taken.close();
    }
    const wrong = desk.mandate("worker", "--log-format", "xml");
    expect(await wrong.ended).toBe(2);
    expect(wrong.said.err).toContain("takes json or text");
    const text = desk.mandate("worker", "--log-format", "text");
    await text.printed("takes work");
    text.process.kill("SIGTERM");
    expect(await text.ended).toBe(0);
    expect(text.said.err).toMatch(
      /^\S+Z info {2}This worker takes work from default.*\(worker_started\)\n/,
    );
  });
});
