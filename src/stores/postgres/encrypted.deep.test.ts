import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { MandateError } from "../../ports/mandate-error.ts";
import { execute, startServer } from "../../testing/postgres.test-support.ts";
import { until } from "../../testing/until.ts";
import { openDesk } from "../dbos/beside.test-support.ts";
import { PostgresStore } from "./postgres-store.ts";

let server: Awaited<ReturnType<typeof startServer>>;
let folder: string;

const openssl = (...words: readonly string[]): void => {
  execFileSync("openssl", [...words], { cwd: folder, stdio: "pipe" });
};

/** An authority of its own, and what it signs for a name. */
function sign(name: string, host: string): void {
  openssl(
    "req",
    "-x509",
    "-newkey",
    "rsa:2048",
    "-nodes",
    "-days",
    "2",
    "-subj",
    `/CN=${name} authority`,
    "-keyout",
    `${name}-ca.key`,
    "-out",
    `${name}-ca.pem`,
  );
  openssl(
    "req",
    "-newkey",
    "rsa:2048",
    "-nodes",
    "-subj",
    `/CN=${host}`,
    "-keyout",
    `${name}.key`,
    "-out",
    `${name}.csr`,
  );
  writeFileSync(join(folder, "names"), `subjectAltName=DNS:${host}`);
  openssl(
    "x509",
    "-req",
    "-days",
    "2",
    "-in",
    `${name}.csr`,
    "-CA",
    `${name}-ca.pem`,
    "-CAkey",
    `${name}-ca.key`,
    "-extfile",
    "names",
    "-out",
    `${name}.pem`,
  );
}

/** Has the server itself write a file, so that its key is its own as the server demands. */
async function giveServer(name: string, file: string): Promise<void> {
  const body = readFileSync(join(folder, file)).toString("base64");
  await execute(server.url, `COPY (SELECT '${body}') TO PROGRAM 'umask 077; base64 -d > ${name}'`);
}

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "mandate-tls-"));
  server = await startServer();
  sign("right", "localhost");
  sign("wrong", "localhost");
  await giveServer("server.crt", "right.pem");
  await giveServer("server.key", "right.key");
  await execute(server.url, "ALTER SYSTEM SET ssl = on");
  await execute(server.url, "SELECT pg_reload_conf()");
  await until("the server speaks TLS", async () => {
    const [row] = await execute(server.url, "SHOW ssl");
    return row?.["ssl"] === "on";
  });
  // From now on it takes nothing in plain.
  await execute(
    server.url,
    `COPY (SELECT 'hostssl all all 127.0.0.1/32 password') TO PROGRAM 'cat > pg_hba.conf'`,
  );
  await execute(server.url, "SELECT pg_reload_conf()");
}, 120_000);

afterAll(async () => {
  rmSync(folder, { recursive: true, force: true });
  await server?.end();
});

function urlWith(host: string, ...settings: readonly (readonly [string, string])[]): string {
  const url = new URL(server.url);
  url.hostname = host;
  for (const [name, value] of settings) url.searchParams.set(name, value);
  return url.href;
}

const verified = (host: string, authority: string): string =>
  urlWith(host, ["sslmode", "verify-full"], ["sslrootcert", join(folder, authority)]);

async function problemOf(url: string): Promise<string> {
  try {
    await (await PostgresStore.open({ url })).close();
    return "";
  } catch (error) {
    if (!(error instanceof MandateError)) throw error;
    expect(error.code).toBe("database-unusable");
    return error.message;
  }
}

describe("a Postgres that speaks TLS only", () => {
  it("is used with the authority that signed its certificate, by a worker and its queues as well", async () => {
    const url = verified("localhost", "right-ca.pem");
    expect(await problemOf(url)).toBe("");
    using desk = openDesk(url);
    const worker = desk.mandate("worker");
    await until("the worker works", () => worker.said.err.includes("worker_started"));
    const rows = await execute(
      url,
      "SELECT DISTINCT application_name, ssl FROM pg_stat_ssl JOIN pg_stat_activity USING (pid) WHERE application_name LIKE 'mandate%' OR application_name LIKE '%dbos%'",
    );
    expect(rows.length).toBeGreaterThan(0);
    expect(rows.filter(({ ssl }) => ssl !== true)).toEqual([]);
    worker.process.kill("SIGTERM");
    expect(await worker.ended).toBe(0);
  });

  it("is refused with another authority, under another name and in plain", async () => {
    expect(await problemOf(verified("localhost", "wrong-ca.pem"))).toMatch(/certificate/);
    expect(await problemOf(verified("127.0.0.1", "right-ca.pem"))).toMatch(/127\.0\.0\.1|altnames/);
    expect(await problemOf(urlWith("localhost", ["sslmode", "verify-full"]))).toMatch(
      /certificate/,
    );
    expect(await problemOf(urlWith("localhost"))).toMatch(/no encryption|pg_hba/);
    expect(await problemOf(verified("localhost", "none.pem"))).toMatch(/none\.pem/);
  });
});
