/** The thread that a script runs in: one interpreter, and JSON texts across its border. */
import { parentPort, workerData } from "node:worker_threads";
import { Intrinsics, type JSValueHandle, MAX_STACK_SIZE, QuickJS } from "quickjs-wasi";

export interface WorkflowThreadData {
  /** The source of `installGlobals`. */
  readonly globals: string;
  /** A compiled module of WebAssembly. */
  readonly interpreter: object;
  readonly body: string;
  /** The arguments as JSON; empty: none were given. */
  readonly args: string;
  /** The cap of output tokens; null: none. */
  readonly total: number | null;
  readonly memoryBytes: number;
  readonly mostItems: number;
}

/** What the thread is asked: to reply to a request, perhaps with a child script to be run. */
export interface ThreadReply {
  readonly json: string;
  readonly child?: string;
}

/** What the script asked for until it waited; or what ended the interpreter. */
export type Stretch = { readonly requests: readonly string[] } | { readonly broken: string };

/** More than this in one stretch is no use of an interface; every request counts as a thousand bytes. */
const mostBytes = 64 * 1024 * 1024;
const leastBytes = 1000;
const tooMuch = "The script asked for too much at once.";

const extras =
  Intrinsics.WEAK_REF | Intrinsics.PERFORMANCE | Intrinsics.DOM_EXCEPTION | Intrinsics.ATOB_BTOA;

async function run(data: WorkflowThreadData): Promise<void> {
  const { args, body, globals, interpreter, memoryBytes, mostItems, total } = data;
  const vm = await QuickJS.create({
    wasm: interpreter,
    memoryLimit: memoryBytes,
    // Deeper recursion is an error that the script can catch.
    maxStackSize: MAX_STACK_SIZE,
    intrinsics: Intrinsics.ALL & ~extras,
    timezoneOffset: 0,
    // Every run sees the same time, and so the same seed.
    wasi: (memory: { readonly buffer: ArrayBuffer }) => ({
      clock_time_get(_clock: number, _precision: bigint, at: number) {
        new DataView(memory.buffer).setBigUint64(at, 0n, true);
        return 0;
      },
    }),
  });
  let requests: string[] = [];
  let bytes = 0;
  const send = vm.newFunction("send", (json) => {
    const text = json?.toString() ?? "";
    bytes += Math.max(text.length, leastBytes);
    if (bytes > mostBytes) throw new Error(tooMuch);
    requests.push(text);
    return vm.undefined;
  });
  const json = (value: unknown): JSValueHandle => vm.evalCode(`(${JSON.stringify(value)})`);
  const install = vm.evalCode(`"use strict"; (${globals})`, "mandate");
  const installed = vm.callFunction(install, vm.undefined, send, json({ mostItems, total }));

  const call = (method: string, ...given: JSValueHandle[]): void => {
    vm.callFunction(installed.getProp(method), installed, ...given).dispose();
    while (bytes <= mostBytes && vm.executePendingJobs() > 0);
    // The script may have caught the error.
    if (bytes > mostBytes) throw new Error(tooMuch);
  };
  const answer = (): void => {
    parentPort?.postMessage({ requests } satisfies Stretch);
    requests = [];
    bytes = 0;
  };
  parentPort?.on("message", (replies: readonly ThreadReply[]) => {
    guarded(() => {
      // One after the other: what each leads to is asked for before the next is given.
      for (const { child, json: reply } of replies) {
        if (child === undefined) call("reply", vm.newString(reply));
        else call("runChild", vm.newString(reply), vm.evalCode(asChild(child), "workflow"));
      }
      answer();
    });
  });
  guarded(() => {
    call("start", vm.evalCode(asMain(body), "workflow"), vm.newString(args));
    answer();
  });
}

/** The script begins in the first line and column that it has in its file. */
function asMain(body: string): string {
  return `(async function () { "use strict"; ${body}\n})`;
}

/** The child script may declare names that its globals have. */
function asChild(body: string): string {
  const names = "agent, workflow, phase, log, console, args";
  return `(function (${names}) { return (async function () { "use strict"; ${body}\n})(); })`;
}

function guarded(work: () => void): void {
  try {
    work();
  } catch (error) {
    const broken = error instanceof Error ? `${error.name}: ${error.message}` : String(error);
    parentPort?.postMessage({ broken } satisfies Stretch);
  }
}

run(workerData as WorkflowThreadData).catch((error: unknown) => {
  parentPort?.postMessage({ broken: String(error) } satisfies Stretch);
});
