// Keeps real time out of tests, and out of sources that are given a clock. Part of `npm run check`.
import { globSync, readFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";

const longestSleepMs = 50;

/** Tests of promises about real time: the only ones that may look at how long something took. */
const isDeadlineTest = (path) => path.endsWith(".deadline.test.ts");
const isTest = (path) => /\.(?:test|test-support)\.tsx?$/.test(path);

const measures = [
  [/\bperformance\s*\.\s*now\b|\bhrtime\b/, "measures real time"],
  [/\bDate\.now\(\)\s*-\s*[a-zA-Z]/, "measures real time"],
  [/-\s*Date\.now\(\)/, "measures real time"],
  [/\bDate\.now\(\)\s*[<>]|(?<!=)[<>]=?\s*Date\.now\(\)/, "waits by the clock"],
  [/\bwaitForTimeout\(|\bAtomics\.wait\(/, "waits for a duration"],
];

/** Folders whose code takes time, timers and chance from the clock that it is given. */
const clocked = [
  "src/models/",
  "src/stores/",
  "src/tools/",
  "src/surfaces/http/",
  "src/surfaces/mcp/",
];

/** What in these folders runs where no clock can be given, and why. */
const unclocked = new Map([["src/tools/documents/parser-main.ts", "a process of its own"]]);

const ownTime = [
  [/\bDate\.now\b|\bnew Date\(\)/, "`clock.now()`"],
  [/\bMath\.random\(/, "`clock.random()`"],
  [/(?<![.\w])setTimeout\(|(?<![.\w])setInterval\(/, "`clock.after` or `clock.every`"],
  [/\bsetTimeout\b[^;]*"node:timers\/promises"/, "`sleep`"],
  [/\bAbortSignal\.timeout\(/, "`timeoutSignal`"],
];

/** Contains what is to be found. */
const ownTest = "scripts/check-time.test.ts";

const root = resolve(process.argv[2] ?? dirname(import.meta.dirname));
const problems = [];
const folders = "{src,scripts,bench,examples,dashboard,deploy}";
for (const name of globSync(`${folders}/**/*.{ts,tsx}`, { cwd: root })) {
  const path = name.split("\\").join("/");
  if (path.includes("node_modules/") || path === ownTest) continue;
  const text = readFileSync(join(root, name), "utf8");
  if (isTest(path)) checkTest(path, text);
  else if (clocked.some((folder) => path.startsWith(folder))) checkSource(path, text);
}
for (const sentence of problems) console.log(sentence);
if (problems.length > 0) process.exitCode = 1;

function checkTest(path, text) {
  if (isDeadlineTest(path)) return;
  for (const [way, what] of measures) {
    for (const line of linesWith(text, way)) {
      problems.push(
        `${path}:${line} ${what}. Wait for a condition (src/testing/until.ts) or move a clock by hand (src/testing/manual-clock.ts); speed belongs in bench/, a promised deadline in a *.deadline.test.ts.`,
      );
    }
  }
  for (const { duration, line } of sleepsIn(text)) {
    if (isShort(duration)) continue;
    problems.push(
      `${path}:${line} sleeps for ${duration}: at most ${longestSleepMs} ms, as a number. Wait for a condition instead (src/testing/until.ts).`,
    );
  }
}

function checkSource(path, text) {
  if (unclocked.has(path)) return;
  for (const [way, instead] of ownTime) {
    for (const line of linesWith(text, way)) {
      problems.push(`${path}:${line} has a time of its own: use ${instead} (src/ports/clock.ts).`);
    }
  }
}

function linesWith(text, way) {
  const lines = [];
  for (const { index } of text.matchAll(new RegExp(way, "g"))) {
    if (!isComment(text, index)) lines.push(lineOf(text, index));
  }
  return lines;
}

function lineOf(text, index) {
  return text.slice(0, index).split("\n").length;
}

function isComment(text, index) {
  const line = text.slice(text.lastIndexOf("\n", index) + 1, index);
  return /^\s*(?:\*|\/\*|\/\/)/.test(line);
}

/** Calls of `setTimeout`, and of whatever name its promise has in this file. */
function* sleepsIn(text) {
  const names = ["setTimeout"];
  for (const [, list] of text.matchAll(/import \{([^}]*)\} from "node:timers\/promises"/g)) {
    const renamed = /\bsetTimeout as (\w+)/.exec(list)?.[1];
    if (renamed !== undefined) names.push(renamed);
  }
  const isPromise = /import \{[^}]*\bsetTimeout\b(?! as)[^}]*\} from "node:timers\/promises"/.test(
    text,
  );
  for (const { 1: name, 0: call, index } of text.matchAll(
    new RegExp(`(?<![.\\w])(${names.join("|")})\\(`, "g"),
  )) {
    if (isComment(text, index)) continue;
    const parts = argumentsAfter(text, index + call.length);
    const duration = name === "setTimeout" && !isPromise ? parts[1] : parts[0];
    yield { duration: duration ?? "nothing", line: lineOf(text, index) };
  }
}

function argumentsAfter(text, start) {
  const parts = [];
  let depth = 0;
  let from = start;
  for (let at = start; at < text.length; at += 1) {
    const letter = text[at];
    if ("([{".includes(letter)) depth += 1;
    else if (letter === "," && depth === 0) {
      parts.push(text.slice(from, at).trim());
      from = at + 1;
    } else if (")]}".includes(letter)) {
      if (depth === 0) {
        parts.push(text.slice(from, at).trim());
        return parts.filter((part) => part !== "");
      }
      depth -= 1;
    }
  }
  return parts;
}

/** A number, or something that is drawn below one. */
function isShort(duration) {
  const drawn = /^(?:.*%|Math\.random\(\) \*) (\d[\d_]*)$/s.exec(duration)?.[1];
  const most = Number((drawn ?? duration).replaceAll("_", ""));
  return most <= longestSleepMs;
}
