// Keeps what is known of a tool in its definition: code outside src/tools knows no built-in tool by
// its name. Part of `npm run check`.
import { globSync, readFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { shippedTools } from "../src/tools/shipped-tools.ts";

/** Where names belong: a folder or a file, and why. */
const allowed = new Map([
  ["src/tools/", "the definitions"],
  ["src/agents/foreign/", "the tables of other programs' tool names"],
  ["src/events/upcast.ts", "events of earlier versions have nothing but the name"],
  ["src/models/plan-model.ts", "it stands for a model, and a model calls a tool by its name"],
  ["src/models/gateway/", "the kinds of content in the protocols of providers"],
  ["src/surfaces/mcp/tools/", "the table of what is offered over MCP, by name"],
]);

const names = [...shippedTools];
const anyOf = (some) => `(?:${some.join("|")})`;
const quote = "[\"'`]";

/** A name with an underscore means the tool. */
const unmistakable = anyOf(names.filter((name) => name.includes("_")));
/** The others are ordinary words, which mean the tool only where a tool is spoken of. */
const ordinary = anyOf(names.filter((name) => !name.includes("_")));
const tool = String.raw`\b(?:\w*[tT]ool(?:Name)?|name)`;
const literal = `${quote}${ordinary}${quote}`;

const ways = [
  new RegExp(`${quote}${unmistakable}${quote}`),
  new RegExp(String.raw`(?:^|[{,])\s*${unmistakable}\s*:`, "m"),
  new RegExp(String.raw`\.${unmistakable}\b`),
  new RegExp(String.raw`${tool}\)?\s*[!=]==\s*${literal}`),
  new RegExp(String.raw`${literal}\s*[!=]==\s*[\w.?]*${tool}\b`),
  new RegExp(String.raw`\b\w*[tT]ools?\s*:\s*\[?\s*${literal}`),
  new RegExp(String.raw`\b(?:toolbox\??\.(?:get|offer)|findTool|find|mayCall)\(\s*${literal}`),
  new RegExp(String.raw`\b\w*[tT]ools?\??\.(?:get|has|includes|indexOf)\(\s*${literal}`),
  new RegExp(String.raw`\bincludes\(\s*[\w.]*[tT]ools\s*,\s*${literal}`),
];

const root = resolve(process.argv[2] ?? dirname(import.meta.dirname));
const isTest = (path) => /\.(?:test|test-support)\.tsx?$/.test(path);
const used = new Set();
const problems = [];
for (const name of globSync("{src,dashboard/src}/**/*.{ts,tsx}", { cwd: root })) {
  const path = name.split("\\").join("/");
  if (isTest(path)) continue;
  const text = withoutComments(readFileSync(join(root, name), "utf8"));
  const found = ways.flatMap((way) => way.exec(text) ?? []);
  if (found.length === 0) continue;
  const place = [...allowed.keys()].find((one) => one === path || path.startsWith(folder(one)));
  if (place !== undefined) used.add(place);
  else {
    const shown = found[0].trim();
    problems.push(
      `${path} knows a tool by its name (${shown}). Let the tool's definition say it (src/tools/tool.ts), and its events where a fold of the log has to know (StartedTool).`,
    );
  }
}
// A place that needs no exception any more must not become one in silence.
if (process.argv[2] === undefined) {
  for (const place of allowed.keys()) {
    if (!used.has(place)) {
      problems.push(
        `${place} names no tool any more: remove it from scripts/check-tool-names.mjs.`,
      );
    }
  }
}
for (const problem of problems) console.log(problem);
if (problems.length > 0) process.exitCode = 1;

/** A file is no beginning of other files' paths. */
function folder(place) {
  return place.endsWith("/") ? place : `${place}/`;
}

function withoutComments(text) {
  return text.replaceAll(/^\s*(?:\/\/|\/\*\*?|\*).*$/gm, "");
}
