// Counts words of an old dialect in comments and texts, and refuses more than a few. Part of `npm run check`.
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

/** Words in 10,000 that may be of that kind. */
const most = Number(process.env.MANDATE_MOST_WORDS ?? 3);

/** Comments, strings and the text of templates and JSX; regular expressions and code are passed over. */
const token =
  /(?<comment>\/\/[^\n]*|\/\*[\s\S]*?\*\/)|(?<string>"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*')|`(?<template>(?:[^`\\]|\\.)*)`|(?<regexp>(?<=[=(,:!&|?{};\n]\s*)\/(?![/*])(?:[^/\\\n[]|\\.|\[(?:[^\]\\\n]|\\.)*\])+\/[a-z]*)/gu;

/** What a person reads in a source file. A string without a space is a name. */
export function textsIn(source) {
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

export function oldWordsIn(text) {
  return [...text.matchAll(pattern)].map(([word]) => word.toLowerCase());
}

function wordsIn(text) {
  return text.match(/[\p{L}][\p{L}'’-]*/gu)?.length ?? 0;
}

function main(root, isVerbose) {
  const found = new Map();
  let words = 0;
  let its = 0;
  for (const name of globSync("{src,dashboard/src}/**/*.{ts,tsx,md}", { cwd: root })) {
    if (/\.(test|test-support)\.tsx?$/.test(name) || name.includes("upcast")) continue;
    const source = readFileSync(join(root, name), "utf8");
    const texts = name.endsWith(".md") ? [{ index: 0, text: source }] : textsIn(source);
    for (const { index, text } of texts) {
      words += wordsIn(text);
      its += text.match(/\b(?:it|its)\b/giu)?.length ?? 0;
      for (const word of oldWordsIn(text)) {
        found.set(word, (found.get(word) ?? 0) + 1);
        const line = source.slice(0, index).split("\n").length;
        if (isVerbose) console.log(`${name}:${line}: ${word}`);
      }
    }
  }
  const count = [...found.values()].reduce((sum, one) => sum + one, 0);
  const rate = (many) => ((many * 10_000) / Math.max(words, 1)).toFixed(1);
  const often = [...found].sort(([, a], [, b]) => b - a).map(([word, times]) => `${word} ${times}`);
  console.log(`Words to avoid: ${rate(count)} in 10,000 of ${words} words (at most ${most}).`);
  console.log(`"it" and "its": ${rate(its)} in 10,000.`);
  if (often.length > 0) console.log(`  ${often.join(", ")}`);
  if ((count * 10_000) / Math.max(words, 1) <= most) return;
  console.log(
    "Say it in plain technical English; `node scripts/check-words.mjs --list` names places.",
  );
  process.exitCode = 1;
}

if (import.meta.main) {
  const root = resolve(dirname(import.meta.dirname));
  main(root, process.argv.includes("--list"));
}
