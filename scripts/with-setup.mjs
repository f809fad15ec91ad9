// Makes a fresh clone ready, then runs a command with the project's own Node and tools first in
// PATH: node scripts/with-setup.mjs <command> [arguments…]
//
// The command `mandate` is the built program, in the folder in which the person called npm.
//
// Runs on Node 20 without any dependency, because it runs before there is anything else.
import { spawn, spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { constants } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { isatty } from "node:tty";
import { fileURLToPath } from "node:url";
import { withLock } from "./lock.mjs";

const WANTED_NODE_MAJOR = 24;
const STILL_WORKING_MS = 10_000;

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const modules = join(root, "node_modules");
const tools = join(modules, ".bin");
const pinnedNode = join(tools, process.platform === "win32" ? "node.cmd" : "node");
const stamp = join(modules, ".mandate-setup");

/** The process that does the work at this moment, and the signal that asked us to stop. */
let running;
let interruptedBy;

class SetupError extends Error {
  constructor(message, exitCode = 1) {
    super(message);
    this.exitCode = exitCode;
  }
}

async function main([command, ...commandArguments]) {
  if (command === undefined) {
    throw new SetupError("usage: node scripts/with-setup.mjs <command> [arguments…]");
  }
  if (!isReady()) {
    await withLock(join(root, ".setup-lock"), setUp, (owner) =>
      say(
        `waiting for the set-up that process ${owner.pid} is running (if there is none, remove .setup-lock)`,
      ),
    );
  }
  return run(command, commandArguments);
}

/** The whole cost of a call when there is nothing to do: two small reads and one hash. */
function isReady() {
  return existsSync(pinnedNode) && readText(stamp) === lockfileHash();
}

async function setUp() {
  if (isReady()) return; // Another process did it while we waited for the lock.
  if (!installedMatchesLockfile()) await install();
  if (nodeMajor() < WANTED_NODE_MAJOR) await bringNode();
  if (isMissingOptional()) await installOptional();
  writeFileSync(stamp, lockfileHash());
}

/** True after someone's own `npm install`: npm writes its hidden lockfile last, when all is there. */
function installedMatchesLockfile() {
  const wanted = parsePackages(readText(join(root, "package-lock.json")));
  const installed = parsePackages(readText(join(modules, ".package-lock.json")));
  if (wanted === undefined || installed === undefined) return false;
  return Object.entries(wanted).every(
    ([path, { version, optional }]) =>
      path === "" || (installed[path]?.version ?? (optional ? version : undefined)) === version,
  );
}

/** npm leaves out what is optional and too new for its own Node; ours is new enough for everything. */
function isMissingOptional() {
  const wanted = parsePackages(readText(join(root, "package-lock.json"))) ?? {};
  return Object.entries(wanted).some(
    ([path, { optional, os, cpu, libc }]) =>
      optional && !(os ?? cpu ?? libc) && !existsSync(join(root, path, "package.json")),
  );
}

async function installOptional() {
  const { code, output } = await npm(["install", "--no-save", "--include=dev"], {
    onOwnNode: true,
  });
  if (code !== 0) throw new SetupError(explain("npm install", code, output));
}

async function install() {
  const started = Date.now();
  const places = wantedPlaces();
  say(`installing ${places.length} packages (npm ci), once; this takes a minute or less`);
  // How old a release has to be is asked when it is chosen: here each one is known by its hash.
  const words = ["ci", "--include=dev", "--min-release-age=0"];
  const progress = () => {
    const there = places.filter((place) => existsSync(join(root, place, "package.json"))).length;
    return `${there} of ${places.length} packages, ${Math.round((Date.now() - started) / 1000)} s`;
  };
  const { code, output } = await npm(words, { progress });
  if (code !== 0) throw new SetupError(explain("npm ci", code, output));
  say(`installed in ${Math.round((Date.now() - started) / 1000)} s`);
}

/** Where npm puts what the lockfile names, for this platform. */
function wantedPlaces() {
  const packages = parsePackages(readText(join(root, "package-lock.json"))) ?? {};
  const suits = (allowed, own) => allowed === undefined || allowed.includes(own);
  return Object.entries(packages)
    .filter(([place, { cpu, link, os }]) => {
      const isInstalled = place.startsWith("node_modules/") && link !== true;
      return isInstalled && suits(os, process.platform) && suits(cpu, process.arch);
    })
    .map(([place]) => place);
}

/** The `node` package brings its binary in an install script, which a machine may have switched off. */
async function bringNode() {
  say(`fetching Node ${WANTED_NODE_MAJOR} for this project (npm rebuild node)`);
  const { code, output } = await npm(["rebuild", "node", "--ignore-scripts=false"]);
  if (nodeMajor() >= WANTED_NODE_MAJOR) return;
  throw new SetupError(
    code === 0
      ? `node_modules/.bin/node is still not Node ${WANTED_NODE_MAJOR} or newer. The "node" package may have no binary for ${process.platform}-${process.arch}; put Node ${WANTED_NODE_MAJOR} into PATH and run the command by hand.`
      : explain("npm rebuild node", code, output),
  );
}

function nodeMajor() {
  if (!existsSync(pinnedNode)) return 0;
  const { stdout } = spawnSync(pinnedNode, ["--version"], {
    encoding: "utf8",
    shell: process.platform === "win32",
  });
  return Number(/^v(\d+)\./.exec(stdout ?? "")?.[1] ?? 0);
}

/** npm without our own tools in PATH, unless asked: it must not run on a Node that it replaces. */
async function npm(npmArguments, { onOwnNode = false, progress = () => "still installing…" } = {}) {
  const path = (process.env.PATH ?? "").split(delimiter).filter((entry) => entry !== tools);
  if (onOwnNode) path.unshift(tools);
  const child = spawn("npm", [...npmArguments, "--no-audit", "--no-fund", "--loglevel=error"], {
    cwd: root,
    env: { ...process.env, PATH: path.join(delimiter) },
    stdio: ["ignore", "pipe", "pipe"],
    shell: process.platform === "win32",
  });
  let output = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream.on("data", (chunk) => {
      output = (output + chunk).slice(-20_000);
    });
  }
  // A terminal shows one line that changes.
  const isTerminal = isatty(2);
  const show = () => (isTerminal ? rewrite(progress()) : say(progress()));
  const stillWorking = setInterval(show, isTerminal ? 500 : STILL_WORKING_MS);
  try {
    const code = await ending(child, "npm");
    if (interruptedBy === undefined) return { code, output };
  } finally {
    clearInterval(stillWorking);
    if (isTerminal) rewrite("");
  }
  throw new SetupError("interrupted; the next command starts it again", exitCodeOf(interruptedBy));
}

function explain(what, code, output) {
  const causes = [
    [
      /E(NOTFOUND|AI_AGAIN|CONNREFUSED|CONNRESET|TIMEDOUT|NETUNREACH)|network|ENOTCACHED/,
      "the package registry cannot be reached. Check the network or proxy, then run the same command again.",
    ],
    [
      /EUSAGE|in sync/,
      "package.json and package-lock.json disagree. Run `npm install` and commit the lockfile.",
    ],
    [
      /EINTEGRITY/,
      "a downloaded package is not the one the lockfile names. Run `npm cache verify`, then try again.",
    ],
    [/ENOSPC/, "the disk is full."],
    [/EACCES|EPERM|EROFS/, "node_modules cannot be written. Check who owns this folder."],
  ];
  const cause = causes.find(([pattern]) => pattern.test(output));
  const tail = output.trim().split("\n").slice(-12).join("\n  ");
  return `${what} failed (exit ${code})${cause ? `: ${cause[1]}` : "."}\n  ${tail}`;
}

/** Runs the command in this process's place, as far as anyone outside can tell. */
async function run(command, commandArguments) {
  const pathKey = Object.keys(process.env).find((key) => key.toUpperCase() === "PATH") ?? "PATH";
  const path = process.env[pathKey] ?? "";
  const isOurs = command === "mandate";
  const words = isOurs ? [join(root, "dist", "mandate.js"), ...commandArguments] : commandArguments;
  const child = spawn(isOurs ? "node" : command, words, {
    cwd: isOurs ? process.env.INIT_CWD : undefined,
    env: {
      ...process.env,
      [pathKey]: path.startsWith(tools + delimiter) ? path : `${tools}${delimiter}${path}`,
    },
    stdio: "inherit",
    shell: process.platform === "win32",
  });
  return ending(child, command);
}

/** The exit code, or 128 + the signal's number, as a shell gives it. */
function ending(child, name) {
  running = child;
  return new Promise((resolve, reject) => {
    child.on("error", (error) =>
      reject(new SetupError(`cannot run ${name}: ${error.message}`, 127)),
    );
    child.on("close", (code, signal) => resolve(code ?? exitCodeOf(signal)));
  }).finally(() => {
    running = undefined;
  });
}

function exitCodeOf(signal) {
  return 128 + constants.signals[signal];
}

/** A terminal sends Ctrl-C to the child as well: forwarding it would count as a second one. */
function passOn(signal) {
  interruptedBy = signal;
  if (running === undefined) process.exit(exitCodeOf(signal));
  if (signal !== "SIGINT" || !isatty(0)) running.kill(signal);
}

/**
 * npm starts a script in a shell, and a shell that is ended tells nobody: what it had started would
 * work, or serve, for ever. A command that somebody started by hand may outlive who did.
 */
function endWithParent() {
  const parent = process.ppid;
  if (process.env.npm_lifecycle_event === undefined) return;
  const watch = setInterval(() => {
    if (process.ppid === parent) return;
    clearInterval(watch);
    passOn("SIGTERM");
  }, 500);
  watch.unref();
}

function lockfileHash() {
  const lockfile = readText(join(root, "package-lock.json"));
  if (lockfile === undefined) {
    throw new SetupError(
      "package-lock.json is missing. Restore it (git checkout package-lock.json).",
    );
  }
  return createHash("sha256").update(lockfile).digest("hex");
}

function parsePackages(lockfile) {
  try {
    return JSON.parse(lockfile).packages;
  } catch {
    return undefined;
  }
}

function readText(path) {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return undefined;
  }
}

function rewrite(text) {
  process.stderr.write(`\r\u001b[K${text === "" ? "" : `mandate set-up: ${text}`}`);
}

function say(sentence) {
  process.stderr.write(`mandate set-up: ${sentence}\n`);
}

for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.on(signal, passOn);
endWithParent();
try {
  process.exitCode = await main(process.argv.slice(2));
} catch (error) {
  if (!(error instanceof SetupError)) throw error;
  say(error.message);
  process.exitCode = error.exitCode;
}
