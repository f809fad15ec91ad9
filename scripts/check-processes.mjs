// Keeps one place in src/ that starts processes. Part of `npm run check`.
import { globSync, readFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";

/** The only file that may use what starts a process. */
const starter = "workspaces/processes/start-program.ts";

/**
 * How code starts a process, or gets at what does. Types of `node:child_process` vanish when the
 * code runs; threads are limited to files of our own, by URL.
 */
const ways = [
  [/(?<!import type [^"';]*)["'](?:node:)?child_process["']/, "uses node:child_process"],
  [/["'](?:node:)?cluster["']/, "uses node:cluster"],
  [/\bprocess\s*\.\s*(?:binding|dlopen|_linkedBinding|execve)\b/, "reaches into Node itself"],
  [/\bprocess\s*\[\s*["'`](?:binding|dlopen|_linkedBinding|execve)\b/, "reaches into Node itself"],
  [/\bgetBuiltinModule\b/, "asks for a built-in module by name"],
  [/\bnew Worker\((?!program,)|\beval:\s*true\b/, "starts a thread that is not a file of its own"],
];

const root = resolve(process.argv[2] ?? dirname(import.meta.dirname));
const source = join(root, "src");
const isTest = (path) => /\.(?:test|test-support)\.tsx?$/.test(path);

const problems = [];
for (const name of globSync("**/*.{ts,tsx}", { cwd: source })) {
  const path = name.split("\\").join("/");
  if (path === starter || isTest(path)) continue;
  const text = readFileSync(join(source, name), "utf8");
  for (const [way, what] of ways) {
    if (!way.test(text)) continue;
    problems.push(
      `src/${path} ${what}: only src/${starter} starts processes. Use startProgram or runToEnd.`,
    );
  }
}
for (const sentence of problems) console.log(sentence);
if (problems.length > 0) process.exitCode = 1;
