// One client in one scenario: folders of its own, the entry that `mandate init` writes, the real program.
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { childKey, ModelServer } from "./model-server.ts";
import type { Cell, RealClient } from "./real-clients.ts";
import type { Scenario, Session } from "./scenarios.ts";

const root = join(import.meta.dirname, "..", "..");
const product = join(root, "dist", "mandate.js");

/** Null: the cell passed; otherwise what was wrong. */
export async function runCell(
  client: RealClient,
  scenario: Scenario,
  { modules, isKept }: { readonly modules: string; readonly isKept: boolean },
): Promise<string | null> {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), "clients-")));
  const model = new ModelServer();
  const cell = {
    ...{ home: join(folder, "home"), project: join(folder, "project"), modules },
    url: await model.start(),
  };
  const run = new CellRun(client, scenario, { cell, model });
  let problem: string | null;
  try {
    problem = await run.all();
  } catch (error) {
    problem = (error as Error).message;
  }
  model.close();
  if (problem !== null && isKept) return `${problem} (${folder})`;
  rmSync(folder, { recursive: true, force: true });
  return problem;
}

class CellRun {
  readonly #client: RealClient;
  readonly #scenario: Scenario;
  readonly #cell: Cell;
  readonly #model: ModelServer;
  readonly #answer: string;
  readonly #environment: Readonly<Record<string, string>>;

  constructor(
    client: RealClient,
    scenario: Scenario,
    { cell, model }: { readonly cell: Cell; readonly model: ModelServer },
  ) {
    this.#client = client;
    this.#scenario = scenario;
    this.#cell = cell;
    this.#model = model;
    this.#answer = `forty-two-${process.pid}`;
    const programs = join(cell.home, "bin");
    mkdirSync(programs, { recursive: true });
    mkdirSync(cell.project);
    symlinkSync(product, join(programs, "mandate"));
    const path = [programs, dirname(process.execPath), "/usr/local/bin", "/usr/bin", "/bin"];
    // What the shell of a person has: the sub-agents' key, and where their models are.
    this.#environment = {
      ...{ HOME: cell.home, PATH: path.join(delimiter), TERM: "xterm-256color", LANG: "C.UTF-8" },
      ...{ OPENAI_API_KEY: childKey, OPENAI_BASE_URL: `${cell.url}/v1` },
      ...{ MANDATE_MODEL: "openai/gpt-6.1-sol", MANDATE_HOME: join(cell.home, "mandate") },
      MCP_INSPECTOR_DAEMON_DIR: join(cell.home, "d"),
    };
  }

  async all(): Promise<string | null> {
    const { disturb, planAfter } = this.#scenario;
    spawnSync("git", ["init", "-q"], { cwd: this.#cell.project });
    this.#client.prepare?.(this.#cell);
    await this.#mandate(
      ...(this.#client.entry === undefined
        ? ["folders", "set", "in-place", this.#cell.project]
        : ["init", "--client", this.#client.entry, "--yes"]),
    );
    this.#client.afterInit?.(this.#cell);
    this.#model.childAnswer = `The answer is ${this.#answer}.`;
    this.#model.holdMs = this.#scenario.holdMs ?? 0;
    this.#model.plan = this.#scenario.plan;
    let session = await this.#session();
    if (disturb !== undefined) await this.#requireGone();
    if (disturb === "interrupt") {
      await until(() => this.#model.abortedChildren > 0, "the sub-agent's request goes on");
    }
    if (planAfter !== undefined) {
      this.#model.release();
      this.#model.plan = planAfter;
      session = await this.#session({ isDisturbed: false });
    }
    const problem = this.#model.problems[0] ?? this.#scenario.check(session, this.#answer);
    if (problem !== null) return `${problem}\n${session.output.slice(-1500)}`;
    if (planAfter !== undefined) await this.#requireResumed(session.results.join("\n"));
    await this.#requireGone();
    await this.#mandate("verify");
    return null;
  }

  /** Starts the client with a prompt, and waits for its end. */
  async #session({ isDisturbed = true } = {}): Promise<Session> {
    this.#model.seen = [];
    const { command, args, environment } = this.#client.start(this.#cell, "Please delegate it.");
    const child = spawn(command, args, {
      ...{ cwd: this.#cell.project, detached: true, stdio: ["ignore", "pipe", "pipe"] },
      env: { ...this.#environment, ...environment },
    });
    let output = "";
    for (const stream of [child.stdout, child.stderr]) {
      stream?.setEncoding("utf8").on("data", (text: string) => {
        output += text;
      });
    }
    const ended = new Promise<number | null>((resolve, reject) => {
      child.on("error", reject);
      child.on("close", resolve);
    });
    const disturb = isDisturbed ? this.#scenario.disturb : undefined;
    try {
      if (disturb !== undefined) await this.#disturb(child, disturb, () => output);
      const limit = disturb === undefined ? 240_000 : 120_000;
      const code = await within(
        limit,
        ended,
        () => `the client did not end: ${output.slice(-800)}`,
      );
      return { code, output, results: this.#model.seen };
    } finally {
      endGroup(child, "SIGKILL");
    }
  }

  async #disturb(
    child: ChildProcess,
    disturb: "interrupt" | "kill",
    output: () => string,
  ): Promise<void> {
    await until(
      () => this.#model.childRequests > 0 || child.exitCode !== null,
      "no sub-agent was started",
    );
    if (this.#model.childRequests === 0) {
      throw new Error(
        `no sub-agent was started: ${this.#model.problems[0] ?? output().slice(-800)}`,
      );
    }
    // As the terminal does it: to the client and all that it started.
    if (disturb === "interrupt") endGroup(child, "SIGINT");
    else for (const server of this.#servers()) process.kill(server, "SIGKILL");
  }

  /** The servers of this cell that run: by their environment, so that no other one is found. */
  #servers(): readonly number[] {
    const ours = `MANDATE_HOME=${this.#environment["MANDATE_HOME"]}`;
    return readdirSync("/proc").flatMap((name) => {
      if (!/^\d+$/.test(name)) return [];
      try {
        const words = readFileSync(`/proc/${name}/cmdline`, "utf8").split("\0");
        const isServer =
          words.includes("mcp") && words.some((word) => /mandate(?:\.js)?$/.test(word));
        const variables = readFileSync(`/proc/${name}/environ`, "utf8").split("\0");
        return isServer && variables.includes(ours) ? [Number(name)] : [];
      } catch {
        return []; // It has ended, or is another person's.
      }
    });
  }

  async #requireGone(): Promise<void> {
    await until(() => this.#servers().length === 0, "the server still runs");
  }

  /** The command that the client was shown completes the work. */
  async #requireResumed(list: string): Promise<void> {
    const [, run = ""] = /mandate resume ([0-9a-z]+)/.exec(list) ?? [];
    const output = await this.#mandate("resume", run);
    if (!output.includes(this.#answer)) throw new Error(`resume did not print it: ${output}`);
  }

  /** The model answers in this process, so it must not wait. */
  async #mandate(...words: readonly string[]): Promise<string> {
    const child = spawn(process.execPath, [product, ...words], {
      ...{ cwd: this.#cell.project, stdio: ["ignore", "pipe", "pipe"], timeout: 120_000 },
      env: this.#environment,
    });
    let output = "";
    for (const stream of [child.stdout, child.stderr]) {
      stream?.setEncoding("utf8").on("data", (text: string) => {
        output += text;
      });
    }
    const code = await new Promise((resolve) => child.on("close", resolve));
    if (code === 0) return output;
    throw new Error(`mandate ${words.join(" ")} ended with ${code}: ${output.slice(-1500)}`);
  }
}

function endGroup({ pid }: ChildProcess, signal: NodeJS.Signals): void {
  try {
    if (pid !== undefined) process.kill(-pid, signal);
  } catch {
    // It has ended.
  }
}

async function until(isSo: () => boolean, otherwise: string): Promise<void> {
  const end = Date.now() + 60_000;
  while (!isSo()) {
    if (Date.now() > end) throw new Error(otherwise);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

async function within<T>(limit: number, work: Promise<T>, otherwise: () => string): Promise<T> {
  const { promise, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => reject(new Error(otherwise())), limit);
  return Promise.race([work, promise]).finally(() => clearTimeout(timer));
}
