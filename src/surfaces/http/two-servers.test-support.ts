/** For tests: several `mandate serve` processes on one Postgres, behind one address. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { childEnvironment } from "../../testing/child-environment.test-support.ts";
import { dropDatabase, freshDatabase } from "../../testing/postgres.test-support.ts";
import { MandateClient } from "../client/mandate-client.ts";
import { type RoundRobin, startRoundRobin } from "./round-robin.test-support.ts";

const program = join(import.meta.dirname, "../../mandate.ts");
const playbook = `version: 1
name: slow and quick
replies:
  - when: { task: slow }
    text: never
    latency_ms: 60000
  - when: { task: unhurried }
    text: done
    latency_ms: 2000
  - text: done
`;

export interface Served {
  readonly url: string;
  readonly port: number;
  readonly child: ChildProcess;
  readonly api: MandateClient;
}

export interface Serving {
  readonly workspace: string;
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly arguments?: readonly string[];
}

/** `mandate serve` as a process of its own; its address is known once it listens. */
export function startServing({ arguments: given = [], environment, workspace }: Serving): {
  readonly child: ChildProcess;
  readonly url: Promise<string>;
} {
  const child = spawn(
    process.execPath,
    ["--no-warnings", program, "serve", "--port", "0", "--workspace", workspace, ...given],
    { env: environment, stdio: ["ignore", "pipe", "pipe"] },
  );
  let said = "";
  child.stderr.on("data", (bytes) => {
    said += String(bytes);
  });
  const ended = once(child, "exit").then(([code]) => {
    throw new Error(`The server ended with ${code}: ${said}`);
  });
  ended.catch(() => undefined);
  const listening = async (): Promise<string> => {
    for await (const line of createInterface({ input: child.stdout })) {
      const [url] = /http:\/\/[\d.:]+/.exec(line) ?? [];
      if (url !== undefined) return url;
    }
    return ended;
  };
  const url = Promise.race([listening(), ended]).finally(() => child.stdout.resume());
  return { child, url };
}

/** Two servers, what is in front of them, and a token that each of them takes. */
export class TwoServers implements AsyncDisposable {
  readonly #root = realpathSync(mkdtempSync(join(tmpdir(), "mandate-servers-")));
  readonly #started: ChildProcess[] = [];
  readonly #database: string;
  readonly balancer: RoundRobin;
  #both: readonly [Served, Served] | undefined;

  private constructor(database: string, balancer: RoundRobin) {
    this.#database = database;
    this.balancer = balancer;
    mkdirSync(join(this.#root, "work"));
    writeFileSync(join(this.#root, "playbook.yaml"), playbook);
  }

  static async start(): Promise<TwoServers> {
    const group = new TwoServers(await freshDatabase(), await startRoundRobin());
    group.#both = [await group.startOne(), await group.startOne()];
    group.balancer.target(group.#both.map(({ port }) => port));
    return group;
  }

  get both(): readonly [Served, Served] {
    if (this.#both === undefined) throw new Error("two servers");
    return this.#both;
  }

  get token(): string {
    return readFileSync(join(this.#root, "home", "tokens"), "utf8").trim();
  }

  /** `mandate serve`, as a person would start it. */
  async startOne(pageKey?: string): Promise<Served> {
    const root = this.#root;
    const served = startServing({
      workspace: join(root, "work"),
      arguments: [
        ...["--playbook", join(root, "playbook.yaml")],
        ...["--allow-host", `127.0.0.1:${this.balancer.port}`],
      ],
      environment: {
        ...childEnvironment,
        HOME: root,
        MANDATE_HOME: join(root, "home"),
        MANDATE_DATABASE_URL: this.#database,
        ...(pageKey !== undefined && { MANDATE_PAGE_KEY: pageKey }),
      },
    });
    this.#started.push(served.child);
    const url = await served.url;
    const api = new MandateClient({ url, token: this.token });
    return { url, child: served.child, port: Number(new URL(url).port), api };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const child of this.#started) {
      const isThere = child.exitCode === null && child.signalCode === null;
      const gone = isThere ? once(child, "exit") : undefined;
      child.kill("SIGTERM");
      await gone;
    }
    await this.balancer[Symbol.asyncDispose]();
    await dropDatabase(this.#database);
    rmSync(this.#root, { recursive: true, force: true });
  }
}
