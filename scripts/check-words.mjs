// Counts words that plain technical English avoids, in comments, texts and documents, and comments that
// begin without a subject, and refuses more than there are. Part of `npm run check`; `--list` names
// places, `--docs` looks at documents alone.
import { globSync, readFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";

/** STYLE: what a senior engineer would not write to a colleague. */
const avoided = [
  ...["whoever", "whom", "nobody", "somebody", "shall", "mends?", "mended", "besides", "meanwhile"],
  ...["for ever", "goes on", "go on with", "going on with", "takes up", "take up", "taken up"],
  ...["stands in", "lies in", "is told", "of its own accord", "unsaid", "there is none"],
  ...["way out", "ways out", "leads out", "strangers['’]? words", "page code", "anew", "stirs?"],
  ...["comes? to rest", "at rest", "gives? up on", "conclude[sd]?", "patience"],
];
const pattern = new RegExp(`\\b(?:${avoided.join("|")})\\b`, "giu");

/** Words in 10,000 that may be of that kind: what was reached, so that it only improves. */
const most = 0.5;
const mostInDocuments = 0.5;

/** A comment that begins so says what something is, and not of what. */
const withoutSubject = /^(?:Of|The same|It|Its|They|Their|Them|Those|These)\b/u;
const mostWithoutSubject = 0;

/** Comments, strings and the text of templates and JSX; regular expressions and code are passed over. */
const token =
  /(?<comment>\/\/[^\n]*|\/\*[\s\S]*?\*\/)|(?<string>"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*')|`(?<template>(?:[^`\\]|\\.)*)`|(?<regexp>(?<=[=(,:!&|?{};\n]\s*)\/(?![/*])(?:[^/\\\n[]|\\.|\[(?:[^\]\\\n]|\\.)*\])+\/[a-z]*)/gu;

/** What a person reads in a source file. A string without a space is a name. */
function textsIn(source) {
  const texts = [];
  for (const { groups, index } of source.matchAll(token)) {
    const { comment, string, template } = groups;
    const text = comment ?? string ?? template;
    if (text === undefined) continue;
    if (comment === undefined && !/\S \S/.test(text)) continue;
    const kind = comment === undefined ? "string" : "comment";
    texts.push({ kind, index, text: text.replaceAll(/\$\{[^}]*\}/g, " ") });
  }
  return texts;
}

function wordsIn(text) {
  return text.match(/[\p{L}][\p{L}'’-]*/gu)?.length ?? 0;
}

const sources = "{src,dashboard/src}/**/*.{ts,tsx,md}";
/** What people read. Decisions and the list of requirements quote the words of their time. */
const documents = "{*.md,docs/*.md,docs/{guides,reference}/**/*.md}";
const isLeftOut = (name) =>
  /\.(test|test-support)\.tsx?$/.test(name) || /upcast|CHANGELOG|requirements/.test(name);

/** Whether a text is a comment that begins without a subject, and not the next line of another one. */
function lacksSubject({ index, kind, text }, source) {
  if (kind !== "comment" || !withoutSubject.test(text.replace(/^[/*\s]+/, ""))) return false;
  const before = source.slice(0, index).trimEnd();
  return !before.slice(before.lastIndexOf("\n") + 1).includes("//");
}

/** Prints how often the words occur in some files; false where that is more than `limit` in 10,000. */
function measure(title, { root, pattern: files, limit, isVerbose }) {
  const found = new Map();
  let words = 0;
  let its = 0;
  let lacking = 0;
  for (const name of globSync(files, { cwd: root }).filter((each) => !isLeftOut(each))) {
    const source = readFileSync(join(root, name), "utf8");
    const texts = name.endsWith(".md") ? [{ index: 0, text: source }] : textsIn(source);
    for (const each of texts) {
      const { index, text } = each;
      const lineOf = (at) => source.slice(0, at).split("\n").length;
      if (lacksSubject(each, source)) {
        lacking += 1;
        if (isVerbose) console.log(`${name}:${lineOf(index)}: no subject`);
      }
      words += wordsIn(text);
      its += text.match(/\b(?:it|its)\b/giu)?.length ?? 0;
      for (const match of text.matchAll(pattern)) {
        const word = match[0].toLowerCase();
        found.set(word, (found.get(word) ?? 0) + 1);
        if (isVerbose) console.log(`${name}:${lineOf(index + match.index)}: ${word}`);
      }
    }
  }
  const count = [...found.values()].reduce((sum, one) => sum + one, 0);
  const rate = (many) => (many * 10_000) / Math.max(words, 1);
  const often = [...found].sort(([, a], [, b]) => b - a).map(([word, times]) => `${word} ${times}`);
  console.log(
    `${title}: ${rate(count).toFixed(1)} words to avoid in 10,000 of ${words} (at most ${limit}); "it" and "its": ${rate(its).toFixed(1)}; comments without a subject: ${lacking} (at most ${mostWithoutSubject})`,
  );
  if (often.length > 0) console.log(`  ${often.join(", ")}`);
  return rate(count) <= limit && lacking <= mostWithoutSubject;
}

if (import.meta.main) {
  const root = resolve(dirname(import.meta.dirname));
  const isVerbose = process.argv.includes("--list");
  const onlyDocuments = process.argv.includes("--docs");
  const results = [
    onlyDocuments || measure("sources", { root, pattern: sources, limit: most, isVerbose }),
    measure("documents", {
      ...{ root, pattern: documents, limit: mostInDocuments },
      isVerbose: isVerbose && onlyDocuments,
    }),
  ];
  if (results.includes(false)) {
    console.log(
      "Use plain technical English; `node scripts/check-words.mjs --list` (and `--docs`) names places.",
    );
    process.exitCode = 1;
  }
}
