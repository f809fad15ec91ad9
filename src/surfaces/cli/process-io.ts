import {
  accessSync,
  constants,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  realpathSync,
  type Stats,
  statSync,
} from "node:fs";
import { enableCompileCache } from "node:module";
import { basename, delimiter, dirname, join, sep } from "node:path";
import { findPlaces } from "../../control/places.ts";
import type { Io, StopSignal, Writer } from "./io.ts";
import { terminalLetters } from "./style.ts";

const stopSignals: readonly StopSignal[] = ["SIGINT", "SIGTERM", "SIGHUP"];

/**
 * Lets Node keep compiled modules in the user's home, which halves the time that a command needs to
 * start: some MCP clients drop a server that starts slowly. Compiled modules are executed as they
 * are, so a cache that another user can or could write is not used. The first command creates the
 * home and starts without.
 */
export function keepCompiled(environment: Readonly<Record<string, string | undefined>>): void {
  const { home } = findPlaces(environment);
  try {
    if (!isPrivate(statSync(home))) return;
    const cache = join(home, "compiled");
    mkdirSync(cache, { recursive: true, mode: 0o700 });
    const folders = [cache, ...readdirSync(cache).map((name) => join(cache, name))];
    if (!folders.every((folder) => isPrivate(lstatSync(folder)))) return;
    const umask = process.umask(0o077);
    enableCompileCache(cache);
    process.umask(umask);
  } catch {
    // The first command creates the home, or says why it cannot.
  }
}

/** A folder that only this user can write. */
function isPrivate(folder: Stats): boolean {
  return folder.isDirectory() && folder.uid === process.getuid?.() && (folder.mode & 0o022) === 0;
}

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
    program: programName(process.env, process.argv[1] ?? "", process.cwd()),
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

/**
 * How a person starts this program here: by name where the PATH finds it, through npm in a clone,
 * through npx in a project, and otherwise by the path of its script.
 *
 * @example programName({ PATH: "/usr/bin" }, "/usr/bin/mandate", "/home") // "mandate"
 */
export function programName(environment: Io["environment"], script: string, cwd: string): string {
  const clone = cloneOf(environment, script);
  if (clone !== undefined) {
    const isInside = isBelow(environment["INIT_CWD"] ?? cwd, clone);
    return `npm ${isInside ? "" : `--prefix ${quoted(clone)} `}run -s mandate --`;
  }
  if (npxSource(script, cwd) !== undefined) return "npx mandate";
  const isNamed =
    basename(script) === "mandate" || installed.test(script) || isOnPath(script, environment);
  return isNamed ? "mandate" : `node ${quoted(script)}`;
}

const installed = /^(.*?)[\\/]node_modules[\\/](?:\.bin[\\/]mandate|mandate[\\/])/;

/** Where npx has the script from: its own cache, or the packages of the project around the folder. */
export function npxSource(script: string, cwd: string): "cache" | "project" | undefined {
  const [, project] = installed.exec(script) ?? [];
  if (project === undefined) return undefined;
  if (/[\\/]_npx[\\/]/.test(script)) return "cache";
  return isBelow(cwd, project) ? "project" : undefined;
}

/** The clone whose `npm run mandate` or `npm start` started the script. */
function cloneOf(environment: Io["environment"], script: string): string | undefined {
  const {
    npm_package_name: name,
    npm_package_json: file,
    npm_lifecycle_event: event,
  } = environment;
  if (name !== "mandate" || file === undefined || event === undefined) return undefined;
  const own = [
    ["dist", "mandate.js"],
    ["src", "mandate.ts"],
  ];
  return own.some((path) => script === join(dirname(file), ...path)) ? dirname(file) : undefined;
}

/** The first `mandate` on the PATH is this program: a link to it, or a launcher that names it. */
export function isOnPath(script: string, environment: Io["environment"]): boolean {
  for (const folder of (environment["PATH"] ?? "").split(delimiter)) {
    const file = join(folder, process.platform === "win32" ? "mandate.cmd" : "mandate");
    try {
      if (folder === "") continue;
      accessSync(file, constants.X_OK);
      if (process.platform === "win32") return true;
      if (realpathSync(file) === realpathSync(script)) return true;
      return statSync(file).size < 4096 && readFileSync(file, "utf8").includes(`'${script}'`);
    } catch {
      // This folder has no such file, or it cannot be read.
    }
  }
  return false;
}

function isBelow(path: string, folder: string): boolean {
  return path === folder || path.startsWith(folder + sep);
}

/** The path as one word of a shell. */
function quoted(path: string): string {
  return /^[\w@%+=:,./-]+$/.test(path) ? path : `'${path.replaceAll("'", "'\\''")}'`;
}
