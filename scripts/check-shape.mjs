// Measures the tree below src/ without its tests, and refuses what is harder to read than agreed.
// Part of `npm run check`; `--list` names the small files and the circles.
import { globSync, readFileSync } from "node:fs";
import { dirname, join, relative, resolve, sep } from "node:path";

/** The figures that were reached: a change that adds has to take away, or to say here why not. */
const most = {
  // The surfaces of agent programs have two files more: one fold for all, and what doctor looks at.
  files: 874,
  lines: 141_100,
  linesOfOneFile: 500,
  topFolders: 14,
  filesOfOneFolder: 30,
  /** Files of at most 40 lines that one other file imports. */
  fragments: 2,
  /** Exported functions with five or more positional parameters. */
  longSignatures: 0,
  /** Exported functions with a parameter that is a bare boolean. */
  bareBooleans: 10,
  /** Files that import each other, types included. */
  largestCircle: 6,
};

const isSmall = 40;
const statement =
  /^\s*(?:import|export)\s+(?:type\s)?(?:[^"';]*?\sfrom\s+)?["'](?<path>\.[^"']*)["']/gm;
const dynamic = /\bimport\(\s*["'](?<path>\.[^"']*)["']\s*\)/g;

const root = resolve(dirname(import.meta.dirname), "src");
const files = new Map();
for (const name of globSync("**/*.{ts,tsx}", { cwd: root })) {
  if (/\.(test|test-support)\.tsx?$/.test(name)) continue;
  const text = readFileSync(join(root, name), "utf8");
  const follow = (pattern) =>
    [...text.matchAll(pattern)].map(({ groups }) =>
      relative(root, resolve(root, dirname(name), groups.path))
        .split(sep)
        .join("/"),
    );
  files.set(name.split(sep).join("/"), {
    text,
    lines: text.split("\n").length - 1,
    imports: new Set(follow(statement)),
    lazy: new Set(follow(dynamic)),
  });
}

/** The parameters of a function, split at the commas that are in no bracket. */
function parametersIn(text, start) {
  const parts = [];
  let depth = 0;
  let from = start;
  for (let at = start; at < text.length; at++) {
    const letter = text[at];
    if ("([{".includes(letter) || (letter === "<" && /\w/.test(text[at - 1]))) depth++;
    else if (depth === 0 && (letter === "," || letter === ")")) {
      parts.push(text.slice(from, at).trim());
      from = at + 1;
      if (letter === ")") break;
    } else if (")]}".includes(letter) || (letter === ">" && text[at - 1] !== "=")) depth--;
  }
  return parts.filter((part) => part !== "");
}

const exportedFunction =
  /^export (?:async )?function\*? (?<name>\w+)(?:<(?:[^<>]|<[^<>]*>)*>)?\(/gm;
const signatures = [...files].flatMap(([file, { text }]) =>
  [...text.matchAll(exportedFunction)].map((match) => {
    const parameters = parametersIn(text, match.index + match[0].length);
    return { at: `${file} ${match.groups.name}`, parameters };
  }),
);
const longSignatures = signatures.filter(({ parameters }) => parameters.length >= 5);
/** `value: boolean`, `value?: boolean`, `value = true`; a function of one parameter is a predicate. */
const isBareBoolean = (parameter) =>
  /^\w+(?:\??: boolean\b(?! \|)|(?:: boolean)? = (?:true|false)$)/.test(parameter);
const bareBooleans = signatures.filter(
  ({ parameters }) => parameters.length > 1 && parameters.some(isBareBoolean),
);

const importers = new Map();
for (const [name, { imports, lazy }] of files) {
  for (const to of new Set([...imports, ...lazy])) {
    importers.set(to, [...(importers.get(to) ?? []), name]);
  }
}
const fragments = [...files]
  .filter(([name, { lines }]) => lines <= isSmall && importers.get(name)?.length === 1)
  .map(([name]) => name);

/** Tarjan's strongly connected components, largest first. */
function circles() {
  const index = new Map();
  const low = new Map();
  const stack = [];
  const found = [];
  const visit = (name) => {
    index.set(name, index.size);
    low.set(name, index.get(name));
    stack.push(name);
    for (const to of files.get(name).imports) {
      if (!files.has(to)) continue;
      if (!index.has(to)) visit(to);
      if (stack.includes(to)) low.set(name, Math.min(low.get(name), low.get(to)));
    }
    if (low.get(name) !== index.get(name)) return;
    const circle = stack.splice(stack.indexOf(name));
    if (circle.length > 1) found.push(circle);
  };
  for (const name of files.keys()) if (!index.has(name)) visit(name);
  return found.sort((left, right) => right.length - left.length);
}

const perFolder = new Map();
for (const name of files.keys()) {
  const folder = dirname(name);
  perFolder.set(folder, (perFolder.get(folder) ?? 0) + 1);
}
const lengths = [...files.values()].map(({ lines }) => lines).sort((a, b) => a - b);
const found = circles();
const figures = {
  files: files.size,
  lines: lengths.reduce((sum, each) => sum + each, 0),
  linesOfOneFile: lengths.at(-1),
  topFolders: new Set([...perFolder.keys()].map((name) => name.split("/")[0])).size - 1,
  filesOfOneFolder: Math.max(...[...perFolder].filter(([name]) => name !== ".").map(([, n]) => n)),
  fragments: fragments.length,
  longSignatures: longSignatures.length,
  bareBooleans: bareBooleans.length,
  largestCircle: found[0]?.length ?? 0,
};

const median = lengths[Math.floor(lengths.length / 2)];
console.log(`src without tests: ${JSON.stringify(figures)}, median ${median} lines`);
if (process.argv.includes("--list")) {
  for (const name of fragments) console.log(`${name} <- ${importers.get(name)}`);
  for (const circle of found) console.log(`${circle.length}: ${circle.join(" ")}`);
  for (const { at, parameters } of longSignatures)
    console.log(`${at}: ${parameters.length} parameters`);
  for (const { at } of bareBooleans) console.log(`${at}: a bare boolean`);
  for (const [folder, n] of perFolder) if (n > 30) console.log(`${folder}/ has ${n} files`);
  for (const [name, { lines }] of files) if (lines > 400) console.log(`${name} ${lines}`);
}
for (const [name, limit] of Object.entries(most)) {
  if (figures[name] <= limit) continue;
  console.log(`${name} is ${figures[name]}, and may be ${limit} (scripts/check-shape.mjs).`);
  process.exitCode = 1;
}
