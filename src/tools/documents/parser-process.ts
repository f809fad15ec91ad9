import type { Readable, Writable } from "node:stream";
import { fileURLToPath } from "node:url";
import { type Clock, systemClock } from "../../ports/clock.ts";
import { ownNode, type Program, systemShell } from "../../workspaces/processes/find-program.ts";
import { helperEnvironment } from "../../workspaces/processes/program-environment.ts";
import { startProgram } from "../../workspaces/processes/start-program.ts";
import type { ReplyAt } from "./parser-main.ts";

export interface ParserLimits {
  /** Of the clock; the process is killed then. */
  readonly timeMs: number;
  readonly memoryBytes: number;
  readonly replyBytes: number;
}

export type ParserEnd =
  | { readonly kind: "reply"; readonly body: Buffer }
  | { readonly kind: "late" }
  | { readonly kind: "died" };

// The type keeps both sides in step, and makes the program, which is only named below, part of the
// build.
const replyAt: ReplyAt = 3;
const extension = import.meta.url.endsWith(".ts") ? ".ts" : ".js";
const program = fileURLToPath(new URL(`./parser-main${extension}`, import.meta.url));

/**
 * Lets another process read a document. Whatever the document does to it (an endless loop, all of
 * its memory, a crash), this one only hears that it ended. The kernel holds the bounds where there
 * is a shell to set them, so that they hold even when no process is left to kill it.
 */
export function runParser(
  request: string,
  document: Uint8Array,
  limits: ParserLimits,
  signal: AbortSignal,
  clock: Clock = systemClock,
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
    // It may end before it has read everything; how it ended says more than the broken pipe.
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
