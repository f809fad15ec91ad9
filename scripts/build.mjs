// Compiles src/ into dist/ (JavaScript, declarations, and the files that are read at run time), and
// dashboard/ into dist/dashboard/. Does nothing when dist/ was made from what these hold now.
//
// --page builds the dashboard alone: `npm start` runs from src/, so that the demonstration starts before the compiler is done.
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import {
  chmodSync,
  cpSync,
  existsSync,
  globSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { dirname, join, relative } from "node:path";
import { withLock } from "./lock.mjs";

const root = dirname(import.meta.dirname);
const dist = join(root, "dist");
const stamp = join(dist, ".built-from");
const executable = "mandate.js";
const assets = ["src/**/*.md", "src/**/*.yaml", "src/**/*.sql"];
const sources = ["src/**/*.ts", ...assets, "tsconfig*.json", "package.json", "scripts/build.mjs"];
const pageSources = ["dashboard/*.{html,ts,json}", "dashboard/src/**/*"];
const isTest = (path) => /\.(test|test-support)\.ts$|(^|\/)fixtures\//.test(path);

/** Names, sizes and times instead of contents: a few milliseconds, and a touch too much is harmless. */
function fingerprint() {
  const hash = createHash("sha256");
  for (const path of find([...sources, ...pageSources])) {
    const { mtimeMs, size } = statSync(join(root, path));
    hash.update(`${path}\0${size}\0${mtimeMs}\n`);
  }
  return hash.digest("hex");
}

function find(patterns) {
  return globSync(patterns, { cwd: root })
    .filter((path) => !isTest(path))
    .sort();
}

function isFresh() {
  return existsSync(stamp) && readFileSync(stamp, "utf8") === fingerprint();
}

function build() {
  if (isFresh()) return true; // Another process built it while we waited for the lock.
  const started = performance.now();
  const builtFrom = fingerprint();
  const output = join(root, "node_modules", ".cache", `mandate-build-${process.pid}`);
  rmSync(output, { recursive: true, force: true });
  try {
    const { status } = spawnSync("tsc", ["-p", "tsconfig.build.json", "--outDir", output], {
      cwd: root,
      stdio: "inherit",
      shell: process.platform === "win32",
    });
    if (status !== 0) return false;
    for (const path of find(assets)) copyInto(output, path);
    chmodSync(join(output, executable), 0o755);
    if (!writeSchemas(output) || !buildPage(output)) return false;
    writeFileSync(join(output, ".built-from"), builtFrom);
    // The old build stays in place until the new one is whole.
    rmSync(dist, { recursive: true, force: true });
    renameSync(output, dist);
    const seconds = ((performance.now() - started) / 1000).toFixed(1);
    process.stderr.write(`build: dist/ is ready (${seconds} s)\n`);
    return true;
  } finally {
    rmSync(output, { recursive: true, force: true });
  }
}

/** The page shares code with src/, so it is built with it; that takes half a second. */
function buildPage(output) {
  const words = ["build", "dashboard", "--outDir", join(output, "dashboard"), "--logLevel", "warn"];
  const options = { cwd: root, stdio: "inherit", shell: process.platform === "win32" };
  return spawnSync("vite", words, options).status === 0;
}

/** The JSON Schemas for editors are made by the code that was just compiled. */
function writeSchemas(output) {
  const script = `
    const { mkdirSync, writeFileSync } = await import("node:fs");
    const { publishedSchemas } = await import("./control/config-schema.js");
    mkdirSync("schemas");
    for (const [name, schema] of Object.entries(publishedSchemas())) {
      writeFileSync("schemas/" + name, JSON.stringify(schema, null, 2) + "\\n");
    }`;
  const words = ["--input-type=module", "-e", script];
  return spawnSync(process.execPath, words, { cwd: output, stdio: "inherit" }).status === 0;
}

function copyInto(output, path) {
  const target = join(output, relative("src", path));
  mkdirSync(dirname(target), { recursive: true });
  cpSync(join(root, path), target);
}

const work = process.argv[2] === "--page" ? () => isFresh() || buildPage(dist) : build;
if (!isFresh() && !(await withLock(join(root, ".build-lock"), work))) {
  process.stderr.write("build: there are errors above; dist/ is as it was.\n");
  process.exitCode = 1;
}
