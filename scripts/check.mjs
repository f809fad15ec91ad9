// Everything `npm run check` promises; each step reports all its findings, whatever the others say.
import { spawn } from "node:child_process";
import { availableParallelism } from "node:os";
import { dirname } from "node:path";

const options = {
  cwd: dirname(import.meta.dirname),
  stdio: ["ignore", "pipe", "pipe"],
  shell: process.platform === "win32",
};

const steps = [
  ["types", () => spawn("tsc", ["--noEmit"], options)],
  ["types of the dashboard", () => spawn("tsc", ["-p", "dashboard", "--noEmit"], options)],
  [
    "declarations of the package",
    () => spawn("tsc", ["-p", "tsconfig.build.json", "--noEmit"], options),
  ],
  [
    "format and lint",
    () => spawn("biome", ["check", "--error-on-warnings", "--max-diagnostics=200", "."], options),
  ],
  ["unused code and dependencies", () => spawn("knip", ["--no-progress"], options)],
  ["code that only tests use", () => spawn("knip", ["--no-progress", "--production"], options)],
  ["imports follow the tree", () => spawn("node", ["scripts/check-imports.mjs"], options)],
  ["no real time in tests", () => spawn("node", ["scripts/check-time.mjs"], options)],
  ["one place starts processes", () => spawn("node", ["scripts/check-processes.mjs"], options)],
  ["no sentence decides anything", () => spawn("node", ["scripts/check-sentences.mjs"], options)],
  ["shape of the tree", () => spawn("node", ["scripts/check-shape.mjs"], options)],
  ["plain words", () => spawn("node", ["scripts/check-words.mjs"], options)],
  ["tools are known to src/tools", () => spawn("node", ["scripts/check-tool-names.mjs"], options)],
  [
    "requirements name what exists",
    () => spawn("node", ["scripts/check-requirements.mjs"], options),
  ],
  ["the lockfile names no registry", () => spawn("node", ["scripts/check-lockfile.mjs"], options)],
];

function runStep([title, start]) {
  const started = performance.now();
  return new Promise((resolve) => {
    const child = start();
    let output = "";
    const collect = (chunk) => {
      output += chunk;
    };
    child.stdout.on("data", collect);
    child.stderr.on("data", collect);
    child.on("error", (error) => resolve(report(title, false, String(error), started)));
    child.on("close", (code) => resolve(report(title, code === 0, output, started)));
  });
}

function report(title, passed, output, started) {
  const seconds = ((performance.now() - started) / 1000).toFixed(1);
  if (!passed && output.trim() !== "") console.log(output.trimEnd());
  console.log(`${passed ? "ok    " : "FAILED"}  ${title} (${seconds} s)`);
  return passed;
}

const results = [];
async function work() {
  for (let step = steps.shift(); step !== undefined; step = steps.shift()) {
    results.push(await runStep(step));
  }
}
await Promise.all(Array.from({ length: availableParallelism() }, work));
if (results.includes(false)) {
  console.log("check: fix what is named above; `npm run format` fixes format and imports.");
  process.exitCode = 1;
}
