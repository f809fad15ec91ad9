import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, expect, it } from "vitest";
import { freePort } from "../../testing/embedded-server.test-support.ts";
import { dropDatabase, execute, freshDatabase } from "../../testing/postgres.test-support.ts";
import { until } from "../../testing/until.ts";
import { openDesk } from "../dbos/beside.test-support.ts";

const program = "/usr/sbin/pgbouncer";

function isInstalled(): boolean {
  try {
    execFileSync(program, ["--version"], { stdio: "pipe" });
    return true;
  } catch {
    return false;
  }
}

const hasPooler = isInstalled();
let direct: string;
let folder: string;
const poolers: ChildProcess[] = [];

beforeAll(async () => {
  direct = await freshDatabase();
  folder = mkdtempSync(join(tmpdir(), "mandate-pooler-"));
  chmodSync(folder, 0o755);
});

afterEach(() => {
  for (const pooler of poolers.splice(0)) pooler.kill("SIGKILL");
});

afterAll(async () => {
  rmSync(folder, { recursive: true, force: true });
  await dropDatabase(direct);
});

/** The URL of the database through a PgBouncer. */
async function pooled(mode: string, ...more: readonly string[]): Promise<string> {
  const [port, to] = [await freePort(), new URL(direct)];
  const name = to.pathname.slice(1);
  const ini = join(folder, `${mode}-${port}.ini`);
  const users = join(folder, "users");
  writeFileSync(users, `"${to.username}" "${to.password}"\n`);
  const lines = [
    "[databases]",
    `${name} = host=${to.hostname} port=${to.port} dbname=${name} user=${to.username} password=${to.password}`,
    "[pgbouncer]",
    ...["listen_addr = 127.0.0.1", `listen_port = ${port}`, "unix_socket_dir ="],
    ...["auth_type = plain", `auth_file = ${users}`, `pool_mode = ${mode}`],
    ...["default_pool_size = 60", "max_client_conn = 200", ...more],
  ];
  writeFileSync(ini, lines.join("\n"));
  // It refuses to run as root.
  const nobody = process.getuid?.() === 0 ? { uid: 65_534, gid: 65_534 } : {};
  const pooler = spawn(program, [ini], { stdio: ["ignore", "ignore", "ignore"], ...nobody });
  poolers.push(pooler);
  await once(pooler, "spawn");
  to.port = String(port);
  await until("the pooler answers", () =>
    execute(to.href, "SELECT 1").then(
      () => true,
      () => false,
    ),
  );
  return to.href;
}

it.skipIf(!hasPooler)(
  "works through a PgBouncer that keeps sessions, with nothing set for it",
  async () => {
    const url = await pooled("session");
    using desk = openDesk(url);
    const worker = desk.mandate("worker");
    const run = desk.mandate("run", "--trust-folder", "--quiet", "Count the boats");
    expect(await run.ended, run.said.err).toBe(0);
    worker.process.kill("SIGTERM");
    expect(await worker.ended, worker.said.err).toBe(0);
    const verify = desk.mandate("verify");
    expect(await verify.ended, verify.said.out).toBe(0);
  },
);

it.skipIf(!hasPooler)(
  "refuses a PgBouncer that shares sessions, and says what is needed",
  async () => {
    const url = await pooled("transaction");
    using desk = openDesk(url);
    for (const words of [["ls"], ["run", "--trust-folder", "Count the boats"], ["worker"]]) {
      const { ended, said } = desk.mandate(...words);
      expect([words, await ended]).toEqual([words, 1]);
      expect(said.err).toContain("share a session");
      expect(said.err).toContain("pool_mode = session");
    }
    expect(await execute(direct, "SELECT 1 FROM mandate.runs WHERE outcome IS NULL")).toEqual([]);
  },
);
