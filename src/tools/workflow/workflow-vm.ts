import { readFile } from "node:fs/promises";
import { Worker } from "node:worker_threads";
import { installGlobals } from "./workflow-globals.ts";
import { readRequest, type WorkflowReply, type WorkflowRequest } from "./workflow-request.ts";
import type { Stretch, ThreadReply, WorkflowThreadData } from "./workflow-thread.ts";

export interface WorkflowVmOptions {
  readonly body: string;
  /** The arguments of the script; undefined: none were given. */
  readonly args?: unknown;
  /** The cap of output tokens; null: none. */
  readonly total: number | null;
  /** The script is ended when it computes longer than this without waiting. */
  readonly stretchMs?: number;
  readonly memoryBytes?: number;
}

/** The format's limits. */
const longestStretchMs = 30_000;
const mostItems = 4096;

const mostMemory = 256 * 1024 * 1024;

// The type keeps both sides in step, and makes the thread part of the build.
const extension = import.meta.url.endsWith(".ts") ? ".ts" : ".js";
const program = new URL(`./workflow-thread${extension}`, import.meta.url);

/**
 * The compiled interpreter, which threads share: what one run made fast is fast in the next. Each run
 * has an instance and a memory of its own.
 */
let interpreter: Promise<object> | undefined;

async function compileInterpreter(): Promise<object> {
  return WebAssembly.compile(
    await readFile(new URL(import.meta.resolve("quickjs-wasi/quickjs.wasm"))),
  );
}

/** The types of Node do not have it. */
declare const WebAssembly: { compile(bytes: Uint8Array): Promise<object> };

/** `child`: the body of the script that it is to run. */
export interface ScriptReply {
  readonly reply: WorkflowReply;
  readonly child?: string | undefined;
}

/** The script computed too long, took too much memory, or broke its interpreter. */
export class ScriptStopped extends Error {
  constructor(message: string) {
    super(message);
    this.name = "ScriptStopped";
  }
}

/**
 * A script in an interpreter of its own, in a thread of its own: however it computes, this process
 * keeps working. The script advances only by `begin` and `reply`, so the same replies in the same
 * order lead to the same requests.
 */
export class WorkflowVm {
  readonly #thread: Worker;
  readonly #stretchMs: number;
  #waiting: PromiseWithResolvers<readonly WorkflowRequest[]> | undefined;
  /** Why it goes no further. */
  #ended: ScriptStopped | undefined;

  private constructor(thread: Worker, stretchMs: number) {
    this.#thread = thread;
    this.#stretchMs = stretchMs;
    thread.on("message", (stretch: Stretch) => this.#take(stretch));
    thread.on("error", (error) => this.#fail(`The interpreter ended: ${error.message}`));
    thread.on("exit", () => this.#fail("The interpreter ended."));
  }

  static async open(options: WorkflowVmOptions): Promise<WorkflowVm> {
    const { args, body, memoryBytes = mostMemory, stretchMs = longestStretchMs, total } = options;
    interpreter ??= compileInterpreter().catch((error: unknown) => {
      interpreter = undefined;
      throw error;
    });
    const data: WorkflowThreadData = {
      ...{ body, total, memoryBytes, mostItems, interpreter: await interpreter },
      globals: installGlobals.toString(),
      args: args === undefined ? "" : JSON.stringify(args),
    };
    const thread = new Worker(program, {
      workerData: data,
      name: "mandate-workflow",
      env: {},
      stdin: false,
      // The stack is larger than the interpreter's own limit needs.
      resourceLimits: {
        maxOldGenerationSizeMb: 256,
        maxYoungGenerationSizeMb: 32,
        stackSizeMb: 16,
      },
    });
    return new WorkflowVm(thread, stretchMs);
  }

  /** What the script asks for until it waits. The thread has started it. */
  begin(): Promise<readonly WorkflowRequest[]> {
    return this.#stretch(() => undefined);
  }

  /** Gives the script one reply after the other, and returns its next requests. */
  reply(replies: readonly ScriptReply[]): Promise<readonly WorkflowRequest[]> {
    const messages: readonly ThreadReply[] = replies.map(({ child, reply }) => {
      return { json: JSON.stringify(reply), ...(child !== undefined && { child }) };
    });
    return this.#stretch(() => this.#thread.postMessage(messages));
  }

  async close(): Promise<void> {
    this.#fail("The interpreter was closed.");
    await this.#thread.terminate();
  }

  async #stretch(begin: () => void): Promise<readonly WorkflowRequest[]> {
    if (this.#ended !== undefined) throw this.#ended;
    const waiting = Promise.withResolvers<readonly WorkflowRequest[]>();
    this.#waiting = waiting;
    let timer = setTimeout(() => void check(), this.#stretchMs);
    const check = async (): Promise<void> => {
      // On a busy machine the thread may hardly have run: its own time counts, where Node tells it.
      const left = this.#stretchMs - (await this.#computedMs());
      if (this.#waiting !== waiting) return;
      if (left > 0) {
        timer = setTimeout(() => void check(), left);
        return;
      }
      const seconds = this.#stretchMs / 1000;
      this.#fail(`The script computed for more than ${seconds} s without waiting for anything.`);
      void this.#thread.terminate();
    };
    try {
      begin();
      return await waiting.promise;
    } finally {
      clearTimeout(timer);
    }
  }

  /** The processor time of the thread since its start, in milliseconds. */
  async #computedMs(): Promise<number> {
    try {
      const { system, user } = await this.#thread.cpuUsage();
      return (system + user) / 1000;
    } catch {
      // A Node before 24.6 does not tell it, and a thread that has ended neither.
      return Number.POSITIVE_INFINITY;
    }
  }

  #take(stretch: Stretch): void {
    if ("broken" in stretch) {
      this.#fail(stretch.broken);
      return;
    }
    const requests = stretch.requests.flatMap((json) => readRequest(json) ?? []);
    if (requests.length < stretch.requests.length) {
      this.#fail("The script asked for something that its interface does not have.");
      void this.#thread.terminate();
      return;
    }
    const waiting = this.#waiting;
    this.#waiting = undefined;
    waiting?.resolve(requests);
  }

  #fail(message: string): void {
    this.#ended ??= new ScriptStopped(message);
    this.#waiting?.reject(this.#ended);
    this.#waiting = undefined;
  }
}
