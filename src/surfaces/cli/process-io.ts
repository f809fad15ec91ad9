import { basename } from "node:path";
import type { Io, StopSignal, Writer } from "./io.ts";
import { terminalLetters } from "./style.ts";

const stopSignals: readonly StopSignal[] = ["SIGINT", "SIGTERM", "SIGHUP"];

/** The Io of this process. */
export function processIo(): Io {
  // The reader of a pipe may close it early (`mandate logs ID | head`).
  for (const stream of [process.stdout, process.stderr]) {
    stream.on("error", (error: NodeJS.ErrnoException) => {
      process.exit(error.code === "EPIPE" ? 0 : 1);
    });
  }
  return {
    stdout: writerFor(process.stdout),
    stderr: writerFor(process.stderr),
    environment: process.env,
    cwd: process.cwd(),
    program: programName(process.env, process.argv[1] ?? ""),
    pid: process.pid,
    ownsProcess: true,
    now: Date.now,
    ...(process.stdin.isTTY && process.stderr.isTTY ? { ask: askAtTerminal } : {}),
    readInput,
    onSignal(listener) {
      for (const signal of stopSignals) process.on(signal, listener);
      return () => {
        for (const signal of stopSignals) process.off(signal, listener);
      };
    },
    leave: (code) => process.exit(code),
  };
}

function writerFor(stream: NodeJS.WriteStream): Writer {
  // Only a terminal interprets bytes; files and pipes get the text as it is.
  const spell = stream.isTTY === true ? terminalLetters(process.env) : (text: string) => text;
  return {
    write: (text) => void stream.write(spell(text)),
    writeExact: (text) => void stream.write(text),
    isTerminal: stream.isTTY === true && process.env["TERM"] !== "dumb",
    get columns() {
      return stream.columns || 80;
    },
    get rows() {
      return stream.rows || 24;
    },
  };
}

async function readInput(maximumBytes: number): Promise<Uint8Array> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of process.stdin as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > maximumBytes) throw new Error(`larger than ${Math.floor(maximumBytes / 1024)} KB`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

async function askAtTerminal(prompt: string, signal: AbortSignal): Promise<string> {
  const { createInterface } = await import("node:readline/promises");
  const terminal = createInterface({ input: process.stdin, output: process.stderr });
  const leaveLine = () => void process.stderr.write("\n");
  signal.addEventListener("abort", leaveLine, { once: true });
  // While a line is edited, the terminal sends Ctrl-C as a key; it has to stay a signal.
  terminal.on("SIGINT", () => {
    signal.removeEventListener("abort", leaveLine);
    leaveLine();
    process.emit("SIGINT", "SIGINT");
  });
  // Ctrl-D ends the input, and the question would never resolve.
  const closed = new Promise<never>((_resolve, reject) => {
    terminal.once("close", () => reject(new Error("The input was closed.")));
  });
  try {
    return await Promise.race([terminal.question(prompt, { signal }), closed]);
  } finally {
    closed.catch(() => undefined);
    signal.removeEventListener("abort", leaveLine);
    terminal.close();
  }
}

/** How to start this program here: in a clone `mandate` is not on the PATH. */
export function programName(environment: Io["environment"], script: string): string {
  const isOurs = environment["npm_package_name"] === "mandate";
  if (isOurs && environment["npm_lifecycle_event"] !== undefined) return "npm run -s mandate --";
  return basename(script) === "mandate" ? "mandate" : `node ${script}`;
}
