// Keeps sentences from deciding anything: events carry codes, and sentences are made from them in one
// file. Part of `npm run check`.
import { globSync, readFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";

const made = "src/events/cause.ts";
/** Reads what earlier versions wrote. */
const reads = "src/events/upcast.ts";

const field = String.raw`\bpayload\??\.(?:error|reason|detail|message|question|summary)\b`;
const asked = "startsWith|endsWith|includes|indexOf|match|matchAll|search|replace|replaceAll|split";
/** A word of a closed list has no space and no capital; a sentence has one of them. */
const sentence = String.raw`["'\`](?=[^"'\`]*[ A-Z])`;

/** What an event says is compared with something. */
const ways = [
  new RegExp(String.raw`${field}\??\.(?:${asked})\(`),
  new RegExp(String.raw`${field}\s*[!=]==?\s*${sentence}`),
  new RegExp(String.raw`\.(?:test|exec)\(\s*(?:\w+\.)*${field}`),
];

/** A text is compared with a literal, or matched. */
const literals = new RegExp(
  String.raw`(?:\.(?:${asked})\(|[!=]==)\s*(?:"([^"\n]*)"|'([^'\n]*)'|\`([^\`]*)\`|/((?:[^/\n\\]|\\.)+)/)`,
  "g",
);
const patterns = /\/((?:[^/\n\\]|\\.)+)\/[a-z]*\.(?:test|exec)\(/g;

const root = resolve(process.argv[2] ?? dirname(import.meta.dirname));
const isTest = (path) => /\.(?:test|test-support)\.tsx?$/.test(path);
const known = sentencesIn(readFileSync(join(root, made), "utf8"));

const problems = [];
for (const name of globSync("{src,dashboard/src}/**/*.{ts,tsx}", { cwd: root })) {
  const path = name.split("\\").join("/");
  if (path === reads || isTest(path)) continue;
  const text = withoutComments(readFileSync(join(root, name), "utf8"));
  if (!ways.some((way) => way.test(text)) && !comparisonsIn(text).some(isKnown)) continue;
  problems.push(
    `${path} decides by a sentence of an event. Decide by its \`cause\` (${made}); only ${reads} reads sentences.`,
  );
}
for (const problem of problems) console.log(problem);
if (problems.length > 0) process.exitCode = 1;

/** What texts are compared with, as far as it is words. */
function comparisonsIn(text) {
  const found = [...text.matchAll(literals), ...text.matchAll(patterns)];
  return found
    .flatMap(([, ...parts]) => parts.filter((part) => part !== undefined))
    .flatMap((part) => part.split(/[\\^$.*+?()[\]{}|]/))
    .map((words) => words.trim())
    .filter((words) => words.split(" ").length >= 3);
}

function isKnown(words) {
  return known.some((sentence) => sentence.includes(words) || words.includes(sentence));
}

/** The fixed parts of the sentences that causes are described by. */
function sentencesIn(text) {
  const found = withoutComments(text).matchAll(/"([^"\n]+)"|`([^`]+)`/g);
  return [...found]
    .flatMap(([, plain, template]) => plain ?? template.split(/\$\{[^}]*\}/))
    .map((piece) => piece.trim())
    .filter((piece) => piece.split(/\s+/).length >= 3);
}

function withoutComments(text) {
  return text.replaceAll(/^\s*(?:\/\/|\/\*\*?|\*).*$/gm, "");
}
