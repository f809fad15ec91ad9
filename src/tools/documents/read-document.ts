import { availableParallelism } from "node:os";
import type { Readable, Writable } from "node:stream";
import { fileURLToPath } from "node:url";
import { type Clock, systemClock } from "../../ports/clock.ts";
import { ownNode, type Program, systemShell } from "../../workspaces/processes/find-program.ts";
import { helperEnvironment } from "../../workspaces/processes/program-environment.ts";
import { startProgram } from "../../workspaces/processes/start-program.ts";
import { type DocumentReply, type DocumentRequest, documentReply } from "./document-request.ts";
import type { ReplyAt } from "./parser-main.ts";

const parserLimits: ParserLimits = {
  timeMs: 20_000,
  memoryBytes: 1024 * 1024 * 1024,
  replyBytes: 4 * 1024 * 1024,
};

interface ReadOptions {
  readonly signal: AbortSignal;
  readonly limits?: Partial<ParserLimits>;
  readonly clock?: Clock;
}

/** Reads an untrusted document in a process of its own. */
export async function readDocument(
  request: Omit<DocumentRequest, "patienceMs">,
  document: Uint8Array,
  { clock = systemClock, limits: others, signal }: ReadOptions,
): Promise<DocumentReply> {
  const limits = { ...parserLimits, ...others };
  // Early enough to say what was found before the time is up.
  const patienceMs = Math.floor(limits.timeMs * 0.6);
  const line = JSON.stringify({ ...request, patienceMs });
  const end = await withParserSlot(signal, () =>
    runParser(line, document, { limits, signal, clock }),
  );
  if (end.kind === "reply") return parseReply(end.body);
  return {
    kind: "problem",
    text:
      end.kind === "late"
        ? `Reading the document took more than ${limits.timeMs / 1000} s, so it was stopped.`
        : "The document could not be read: it is damaged, or takes more memory than it may.",
  };
}

function parseReply(body: Buffer): DocumentReply {
  try {
    return documentReply.parse(JSON.parse(body.toString("utf8")));
  } catch {
    return { kind: "problem", text: "The document could not be read." };
  }
}

export interface ParserLimits {
  /** The time after which the process is killed, by the clock. */
  readonly timeMs: number;
  readonly memoryBytes: number;
  readonly replyBytes: number;
}

export type ParserEnd =
  | { readonly kind: "reply"; readonly body: Buffer }
  | { readonly kind: "late" }
  | { readonly kind: "died" };

// Type-checked against the program below, and the import makes that program a part of the build.
const replyAt: ReplyAt = 3;
const extension = import.meta.url.endsWith(".ts") ? ".ts" : ".js";
const program = fileURLToPath(new URL(`./parser-main${extension}`, import.meta.url));

/**
 * Reads a document in another process. An endless loop, exhausted memory or a crash there end that
 * process only. Where there is a shell, `ulimit` sets the bounds, so that they hold even when this
 * process is gone.
 */
export function runParser(
  request: string,
  document: Uint8Array,
  { clock = systemClock, limits, signal }: ReadOptions & { readonly limits: ParserLimits },
): Promise<ParserEnd> {
  signal.throwIfAborted();
  return new Promise((resolve, reject) => {
    const child = startProgram({ ...commandLine(limits), environment: helperEnvironment() }, [
      ...(["pipe", "ignore", "ignore", "pipe"] as const),
    ]);
    const chunks: Buffer[] = [];
    let length = 0;
    let isLate = false;
    const kill = () => child.kill("SIGKILL");
    const timer = clock.after(limits.timeMs, () => {
      isLate = true;
      kill();
    });
    signal.addEventListener("abort", kill, { once: true });
    const input = child.stdio[0] as Writable;
    const reply = child.stdio[replyAt] as Readable;
    reply.on("data", (chunk: Buffer) => {
      length += chunk.length;
      if (length <= limits.replyBytes) chunks.push(chunk);
      else kill();
    });
    const settle = (end: ParserEnd | Error) => {
      timer.cancel();
      signal.removeEventListener("abort", kill);
      if (signal.aborted) reject(signal.reason);
      else if (end instanceof Error) reject(end);
      else resolve(end);
    };
    child.on("error", settle);
    child.on("close", (code) => {
      if (isLate) settle({ kind: "late" });
      else if (code === 0) settle({ kind: "reply", body: Buffer.concat(chunks) });
      else settle({ kind: "died" });
    });
    // The process may end before it has read everything: its exit is reported, not the broken pipe.
    input.on("error", () => undefined);
    input.write(`${request}\n`);
    input.end(document);
  });
}

function commandLine({ timeMs, memoryBytes }: ParserLimits): {
  readonly program: Program;
  readonly args: readonly string[];
} {
  const heap = Math.floor(memoryBytes / 2 / 1024 / 1024);
  const args = ["--permission", "--allow-fs-read=*", `--max-old-space-size=${heap}`, program];
  if (process.platform === "win32") return { program: ownNode(), args };
  const seconds = Math.ceil(timeMs / 1000) + 1;
  const bounds = `ulimit -t ${seconds}; ulimit -d ${Math.floor(memoryBytes / 1024)}`;
  const script = `{ ${bounds}; } 2>/dev/null; exec "$0" "$@"`;
  return { program: systemShell(), args: ["-c", script, ownNode().file, ...args] };
}

/**
 * How many documents are read at once, over all agents of this process: each takes a core and up
 * to a gigabyte. The others wait their turn, in order, until their own signal ends it.
 */
const slots = Math.max(1, Math.min(4, availableParallelism()));
let taken = 0;
const waiting: (() => void)[] = [];

async function withParserSlot<Result>(
  signal: AbortSignal,
  work: () => Promise<Result>,
): Promise<Result> {
  await takeSlot(signal);
  try {
    return await work();
  } finally {
    const next = waiting.shift();
    if (next === undefined) taken -= 1;
    else next();
  }
}

function takeSlot(signal: AbortSignal): Promise<void> {
  signal.throwIfAborted();
  if (taken < slots) {
    taken += 1;
    return Promise.resolve();
  }
  return new Promise((resolve, reject) => {
    const go = () => {
      signal.removeEventListener("abort", leave);
      resolve();
    };
    const leave = () => {
      waiting.splice(waiting.indexOf(go), 1);
      reject(signal.reason);
    };
    waiting.push(go);
    signal.addEventListener("abort", leave, { once: true });
  });
}
