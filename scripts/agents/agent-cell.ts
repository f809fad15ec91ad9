// One agent program in one scenario: folders of its own, a model of its own, and what is left of it.
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import type { StoredEvent } from "../../src/events/event.ts";
import { AgentModel, mainMark } from "./agent-model.ts";
import type { RealAgent } from "./real-agents.ts";

const product = join(import.meta.dirname, "..", "..", "dist", "mandate.js");
const limitMs = 300_000;

export interface Ended {
  readonly code: number | null;
  readonly output: string;
  readonly complaint: string;
}

interface Result {
  readonly runId: string;
  readonly delegationId: string;
  readonly status: string;
  readonly closeReason: string;
  readonly result: string;
  readonly tokenUsage: {
    readonly prompt: number;
    readonly completion: number;
    readonly cost: number;
  };
}

/** What was wrong, as its message. */
class Wrong extends Error {}

export function require(isSo: boolean, otherwise: string): asserts isSo {
  if (!isSo) throw new Wrong(otherwise);
}

export class AgentCell {
  readonly agent: RealAgent;
  readonly folder: string;
  readonly home: string;
  readonly project: string;
  readonly model = new AgentModel();
  readonly #programs: string;

  constructor(agent: RealAgent, modules: string) {
    this.agent = agent;
    this.#programs = join(modules, ".bin");
    this.folder = realpathSync(mkdtempSync(join(tmpdir(), "agents-")));
    this.home = join(this.folder, "home");
    this.project = join(this.folder, "project");
    mkdirSync(this.home);
    mkdirSync(this.project);
    writeFileSync(join(this.project, "a.txt"), "a\n");
    for (const words of [
      ["init", "-q"],
      ["add", "."],
      ["-c", "user.name=t", "-c", "user.email=t@localhost", "commit", "-qm", "first"],
    ]) {
      spawnSync("git", words, { cwd: this.project });
    }
  }

  async open(): Promise<void> {
    await this.model.start();
    await this.mandate("folders", "set", "in-place", this.project);
  }

  close(isKept: boolean): void {
    this.model.close();
    if (isKept) writeFileSync(join(this.folder, "requests.jsonl"), this.model.bodies.join("\n"));
    else rmSync(this.folder, { recursive: true, force: true });
  }

  get environment(): Readonly<Record<string, string>> {
    const { url } = this.model;
    const path = [this.#programs, dirname(process.execPath), "/usr/local/bin", "/usr/bin", "/bin"];
    return {
      ...{ HOME: this.home, PATH: path.join(delimiter), LANG: "C.UTF-8", TERM: "dumb" },
      MANDATE_HOME: join(this.home, "mandate"),
      ...{ ANTHROPIC_API_KEY: realKey, OPENAI_API_KEY: realKey, GEMINI_API_KEY: realKey },
      ...{ ANTHROPIC_BASE_URL: `${url}/v1`, OPENAI_BASE_URL: `${url}/v1` },
      GOOGLE_GENERATIVE_AI_BASE_URL: `${url}/v1beta`,
    };
  }

  start(...words: readonly string[]): {
    readonly child: ChildProcess;
    readonly ended: Promise<Ended>;
  } {
    const child = spawn(process.execPath, [product, ...words], {
      ...{ cwd: this.project, stdio: ["ignore", "pipe", "pipe"], env: this.environment },
    });
    const said = ["", ""];
    for (const [index, stream] of [child.stdout, child.stderr].entries()) {
      stream?.setEncoding("utf8").on("data", (text: string) => {
        said[index] += text;
      });
    }
    const timer = setTimeout(() => child.kill("SIGKILL"), limitMs);
    const ended = new Promise<Ended>((resolve) => {
      child.on("close", (code) => {
        clearTimeout(timer);
        resolve({ code, output: said[0] ?? "", complaint: said[1] ?? "" });
      });
    });
    return { child, ended };
  }

  async mandate(...words: readonly string[]): Promise<string> {
    const { code, complaint, output } = await this.start(...words).ended;
    require(code ===
      0, `mandate ${words[0]} ended with ${code}: ${(complaint + output).slice(-1500)}`);
    return output;
  }

  /** The words that start the program with its task. */
  words(...more: readonly string[]): readonly string[] {
    return ["run", "--json", "-p", this.agent.name, ...more, `${mainMark}: do what you are asked.`];
  }

  async run(...more: readonly string[]): Promise<Result> {
    const { code, complaint, output } = await this.start(...this.words(...more)).ended;
    try {
      return JSON.parse(output) as Result;
    } catch {
      throw new Wrong(`mandate run ended with ${code}: ${(complaint + output).slice(-1500)}`);
    }
  }

  async events(run: string): Promise<readonly StoredEvent[]> {
    const lines = (await this.mandate("logs", "--json", run)).trim().split("\n");
    return lines.map((line) => JSON.parse(line) as StoredEvent);
  }

  /** What holds after every scenario. */
  async requireSound(): Promise<void> {
    const { model } = this;
    require(model.problems.length === 0, `the model: ${model.problems[0]}`);
    await this.requireGone();
    await this.mandate("verify");
  }

  async requireGone(withinMs = 5000): Promise<number> {
    const started = performance.now();
    for (;;) {
      const left = this.processes();
      const took = performance.now() - started;
      if (left.length === 0) return took;
      require(took <
        withinMs, `still there after ${withinMs} ms: ${left.map(describe).join("; ")}`);
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }

  /** Processes of this cell: what they are called with, where they work, or what they were given. */
  processes(): readonly number[] {
    return readdirSync("/proc")
      .filter((name) => /^\d+$/.test(name))
      .map(Number)
      .filter((pid) => pid !== process.pid && this.#isOurs(pid));
  }

  #isOurs(pid: number): boolean {
    const reads = [
      () => readFileSync(`/proc/${pid}/cmdline`, "latin1"),
      () => readlinkSync(`/proc/${pid}/cwd`),
      () => readFileSync(`/proc/${pid}/environ`, "latin1"),
    ];
    return reads.some((read) => {
      try {
        return read().includes(this.folder);
      } catch {
        return false; // It has ended.
      }
    });
  }
}

/** The key of the person, which no program may see. */
export const realKey = "sk-the-real-key-of-the-person";

export function describe(pid: number): string {
  try {
    const words = readFileSync(`/proc/${pid}/cmdline`, "latin1").replaceAll("\0", " ");
    return `${pid} ${words.slice(0, 200)}`;
  } catch {
    return `${pid}`;
  }
}
