// Keeps real time out of tests, and out of sources that are given a clock. Part of `npm run check`.
import { globSync, readFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";

const longestSleepMs = 50;
/** A limit below this one is met by chance on a busy machine. */
const shortestCeilingMs = 30_000;

/** Tests of promises about real time: the only ones that may look at how long something took. */
const isDeadlineTest = (path) => path.endsWith(".deadline.test.ts");
const isTest = (path) =>
  /\.(?:test|test-support)\.tsx?$/.test(path) || path.startsWith("src/testing/");

/** What tests use that has to look at real time, and why. */
const realTime = new Map([
  ["src/testing/until.ts", "the ceiling of every wait"],
  ["src/testing/faults/fault-process.test-support.ts", "measures for the deadline tests"],
  ["src/surfaces/mcp/conformance/fixture-tasks.test-support.ts", "the suite says how long"],
]);

/** This moment, by the machine's clock. */
const moment = String.raw`(?:\bDate\.now\(\)|\bnew Date\(\)\.(?:getTime|valueOf)\(\)|\+\s*new Date\(\))`;
const realMoment = String.raw`(?:${moment}|\bsystemClock\.(?:now|monotonic)\(\))`;

const measures = [
  [/\bperformance\s*(?:\.\s*(?:now|mark|measure)\b|\[)|=\s*performance\b/, "measures real time"],
  [/\bhrtime\b|\bprocess\.uptime\(|\bconsole\.time\(/, "measures real time"],
  [new RegExp(String.raw`${realMoment}\s*-\s*[a-zA-Z]|-\s*${realMoment}`), "measures real time"],
  [new RegExp(String.raw`${moment}\s*[<>]|(?<!=)[<>]=?\s*${moment}`), "waits by the clock"],
  [
    /\bexpect\([^;]*?\b(?:duration|elapsed|took|ms)(?:Ms)?\b[^;]*?\)\s*\.toBe(?:Less|Greater)Than(?:OrEqual)?\((?!0\))/,
    "asserts how long something took",
  ],
  [/\bwaitForTimeout\(|\bAtomics\.wait\(|\bscheduler\.wait\(/, "waits for a duration"],
  [/Sync\(\s*["'`]sleep\b/, "waits for a duration"],
  [
    /\bpromisify\(\s*setTimeout\b|\bimport\(\s*"(?:node:)?timers|\bimport \* as \w+ from "(?:node:)?timers/,
    "hides a timer under another name",
  ],
  [/\bvi\.wait(?:For|Until)\(/, "waits for a second at most"],
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
const unclocked = new Map([
  ["src/tools/documents/parser-main.ts", "a process of its own"],
  ["src/tools/files/search/pace.ts", "how long this process was busy, whatever a clock says"],
  ["src/tools/workflow/parse-workflow.ts", "names what a script may not use"],
  ["src/tools/workflow/workflow-globals.ts", "the realm of a script, which has no clock"],
  ["src/tools/workflow/workflow-vm.ts", "how long a thread computes, whatever a clock says"],
]);

const ownTime = [
  [/\bDate\.now\b|\bnew Date\(\)/, "`clock.now()`"],
  [/\bperformance\s*\.\s*now\b|\bhrtime\b/, "`clock.monotonic()`"],
  [/\bMath\.random\(/, "`clock.random()`"],
  [/(?:(?<![.\w])|\bglobalThis\.)set(?:Timeout|Interval)\(/, "`clock.after` or `clock.every`"],
  [/\bset(?:Timeout|Interval)\b[^;]*"(?:node:)?timers\/promises"/, "`sleep`"],
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
  if (isDeadlineTest(path) || realTime.has(path)) return;
  for (const [way, what] of [...measures, ...namedMoments(text)]) {
    for (const line of linesWith(text, way)) {
      problems.push(
        `${path}:${line} ${what}. Wait for a condition (src/testing/until.ts) or move a clock by hand (src/testing/manual-clock.ts); speed belongs in bench/, a promised deadline in a *.deadline.test.ts.`,
      );
    }
  }
  for (const { ms, line } of ceilingsIn(text)) {
    problems.push(
      `${path}:${line} has a limit of ${ms} ms, which a busy machine exceeds by chance: at least ${shortestCeilingMs}, or none for the one in vitest.config.ts.`,
    );
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

/** Differences and comparisons with a variable that is this moment and nothing else. */
function namedMoments(text) {
  const declared = new RegExp(
    String.raw`\b(?:const|let) (\w+)(?:: \w+)? = ${realMoment}\s*[;,\n]`,
    "g",
  );
  return [...new Set([...text.matchAll(declared)].map(([, name]) => name))].map((name) => [
    new RegExp(
      String.raw`\b${name}\s*-\s*[a-zA-Z(]|[\w)\]]\s*-\s*${name}\b|\b${name}\s*[<>]|(?<!=)[<>]=?\s*${name}\b`,
    ),
    "measures real time",
  ]);
}

/** Limits of tests and of polls that are shorter than a busy machine needs. */
function* ceilingsIn(text) {
  const ways = [
    // The options of a test or of a suite, before its function; and the number after it.
    /\btimeout: (\d[\d_]*)[^{}]*\},\s*(?:async\s*)?(?:\(|function\b)/g,
    /^\},\s*(\d[\d_]*),?\s*\);/gm,
    /^ +\},\s*(\d[\d_]{3,}),?\s*\);/gm,
    /\.(?:poll|waitFor)\([^;]*?\btimeout: (\d[\d_]*)/g,
  ];
  for (const way of ways) {
    for (const { 1: number, index } of text.matchAll(way)) {
      const ms = Number(number.replaceAll("_", ""));
      if (ms < shortestCeilingMs && !isComment(text, index))
        yield { ms, line: lineOf(text, index) };
    }
  }
}

/** Calls of `setTimeout`, of whatever name its promise has in this file, and of the real clock. */
function* sleepsIn(text) {
  const names = ["setTimeout"];
  for (const [, list] of text.matchAll(/import \{([^}]*)\} from "(?:node:)?timers\/promises"/g)) {
    const renamed = /\bsetTimeout as (\w+)/.exec(list)?.[1];
    if (renamed !== undefined) names.push(renamed);
  }
  const isPromise =
    /import \{[^}]*\bsetTimeout\b(?! as)[^}]*\} from "(?:node:)?timers\/promises"/.test(text);
  for (const { 1: name, 0: call, index } of text.matchAll(
    new RegExp(`(?:(?<![.\\w])|\\bglobalThis\\.)(${names.join("|")})\\(`, "g"),
  )) {
    if (isComment(text, index)) continue;
    const parts = argumentsAfter(text, index + call.length);
    const duration = name === "setTimeout" && !isPromise ? parts[1] : parts[0];
    yield { duration: duration ?? "nothing", line: lineOf(text, index) };
  }
  for (const { 0: call, index } of text.matchAll(
    /\b(?:sleep|timeoutSignal)\(\s*systemClock\s*,|\bAbortSignal\.timeout\(/g,
  )) {
    if (isComment(text, index)) continue;
    const [duration = "nothing"] = argumentsAfter(text, index + call.length);
    yield { duration, line: lineOf(text, index) };
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
