import { execFileSync } from "node:child_process";
import fc from "fast-check";
import { expect, test } from "vitest";
import { cases } from "../../testing/cases.test-support.ts";
import { callTool, contextFor, makeTree } from "./file-tool.test-support.ts";
import { grepTool } from "./grep-files.ts";
import { findRipgrep } from "./search/ripgrep.ts";

/** Those who have no ripgrep see that this was not compared. */
const ripgrep = await findRipgrep();
const whyNot = "ripgrep is not installed, so its answers cannot be compared";

const withIt = grepTool(findRipgrep);
const withoutIt = grepTool(async () => null);

const words = [
  ...["a", "b", "ab", "foo", "foo bar", "Foo", "FOO", "x1", "_", " ", "\t", "", "aaa", "é", "É"],
  ...[
    "ß",
    "straße",
    "ſ",
    "k",
    "\u212a",
    "σ",
    "ς",
    "漢字",
    "😀",
    "\u0301",
    "a.b",
    "(a)",
    "[b]",
    "\r",
  ],
  ...["\ufeff", "\u00a0", "\u2028", "{}", "$", "^", "foo(bar)", "a\\b", "-", "--", "0", "42", "٣"],
];

const line = fc.array(fc.constantFrom(...words), { maxLength: 5 }).map((parts) => parts.join(""));
const brokenBytes = fc.uint8Array({ maxLength: 12 }).map((bytes) => bytes.filter((b) => b !== 0));

const content = fc
  .tuple(
    fc.constantFrom("", "", "", "\ufeff"),
    fc.array(
      fc.oneof({ weight: 6, arbitrary: line.map((text) => Buffer.from(text)) }, brokenBytes),
      {
        maxLength: 8,
      },
    ),
    fc.constantFrom("\n", "\n", "\r\n"),
    fc.boolean(),
    fc.constantFrom<"plain" | "binary" | "long" | "late-nul">(
      "plain",
      "plain",
      "plain",
      "binary",
      "long",
      "late-nul",
    ),
  )
  .map(([mark, lines, end, hasEnd, kind]) => {
    const parts: Uint8Array[] = [Buffer.from(mark)];
    if (kind === "binary") parts.push(Buffer.from("foo\0bar\n"));
    if (kind === "late-nul") parts.push(Buffer.from(`${"y\n".repeat(5000)}foo\0 bar\n`));
    if (kind === "long") parts.push(Buffer.from("é-".repeat(90_000)));
    for (const [index, each] of lines.entries()) {
      parts.push(each, Buffer.from(index < lines.length - 1 || hasEnd ? end : ""));
    }
    return Buffer.concat(parts);
  });

const names = ["a.ts", "b.ts", "c.log", ".hidden", "src/a.ts", "src/x/b.md", "src/x/é.ts"];
const moreNames = [
  "build/out.ts",
  "-v",
  "src/a b.ts",
  "node_modules/m/i.ts",
  ".git/config",
  "z/[1].ts",
];

const tree = fc.record({
  files: fc.dictionary(fc.constantFrom(...names, ...moreNames), content, { maxKeys: 8 }),
  ignore: fc.constantFrom(undefined, "*.log\nbuild/\n", "/src/*\n!/src/a.ts\n", "*.ts\n!b.ts\n"),
});

const atom = fc.constantFrom(
  ...[
    "a",
    "b",
    "o",
    "foo",
    "bar",
    "é",
    "É",
    "ß",
    "ſ",
    "k",
    "漢",
    "😀",
    ".",
    "\\.",
    "\\d",
    "\\w",
    "\\s",
  ],
  ...[
    "\\D",
    "\\W",
    "\\S",
    "\\b",
    "\\B",
    "^",
    "$",
    "[a-f]",
    "[^a-f]",
    "[é-ü]",
    "[[:alpha:]]",
    "[^\\s]",
  ],
  ...[
    "\\(",
    "\\{",
    "{}",
    "\\x{e9}",
    "\\u00e9",
    "\\p{Lu}",
    "\\P{L}",
    "\\r",
    "[\\]a]",
    "[-a]",
    " ",
    "_",
  ],
);
const pattern = fc.letrec<{ node: string; unit: string }>((tie) => ({
  unit: fc.oneof(
    { weight: 5, arbitrary: atom },
    { weight: 1, arbitrary: tie("node").map((inside) => `(${inside})`) },
    { weight: 1, arbitrary: tie("node").map((inside) => `(?i:${inside})`) },
  ),
  node: fc
    .array(
      fc.tuple(
        tie("unit"),
        fc.constantFrom("", "", "", "", "*", "+", "?", "{2}", "{1,3}", "*?", "|"),
      ),
      {
        minLength: 1,
        maxLength: 4,
      },
    )
    .map((parts) => parts.map(([unit, after]) => unit + after).join("")),
})).node;

const request = fc.record({
  pattern,
  ignore_case: fc.boolean(),
  output: fc.constantFrom("content", "files", "count"),
  context: fc.constantFrom(0, 0, 1, 3),
  limit: fc.constantFrom(200, 1, 3),
  glob: fc.constantFrom(undefined, undefined, "*.ts", "src/**", "{a,b}.*"),
  path: fc.constantFrom(".", ".", "src"),
});

const tried = cases(60);

test("with ripgrep and without it the answers are the same, to the letter", async (context) => {
  if (ripgrep === null) return context.skip(whyNot);
  let answers = 0;
  await fc.assert(
    fc.asyncProperty(
      tree,
      fc.array(request, { minLength: 4, maxLength: 8 }),
      async (made, asked) => {
        const root = makeTree({ "src/always.ts": "foo bar\n", ...made.files });
        if (made.ignore !== undefined) makeIgnore(root, made.ignore);
        const toolContext = contextFor(root);
        for (const { glob, ...rest } of asked) {
          const input = { ...rest, ...(glob === undefined ? {} : { glob }) };
          const one = await callTool(withIt, input, toolContext);
          const other = await callTool(withoutIt, input, toolContext);
          expect(one).toEqual(other);
          if (!one.isError && !one.text.startsWith("No line")) answers += 1;
        }
      },
    ),
    { numRuns: tried },
  );
  // Otherwise nothing was compared.
  expect(answers).toBeGreaterThan(tried / 2);
}, 600_000);

function makeIgnore(root: string, text: string): void {
  execFileSync("sh", ["-c", 'printf "%s" "$1" > "$2/.gitignore"', "sh", text, root]);
}

test("what is found is what ripgrep itself finds, in text that both read alike", async (context) => {
  if (ripgrep === null) return context.skip(whyNot);
  const plainLine = fc
    .array(fc.constantFrom(...words.filter((word) => !/[\r\ufeff]/.test(word))), { maxLength: 5 })
    .map((parts) => parts.join(""));
  const plain = fc.array(plainLine, { maxLength: 12 }).map((lines) => lines.join("\n"));
  // Where ripgrep is stricter, or its versions differ.
  const shared = pattern.filter((text) => !/\{\}|\\r|\\u|\\B|\$.*\^|\[\^?[\\-]/.test(text));
  let compared = 0;
  await fc.assert(
    fc.asyncProperty(
      fc.dictionary(fc.constantFrom(...names), plain, { minKeys: 1, maxKeys: 4 }),
      fc.array(fc.tuple(shared, fc.boolean()), { minLength: 4, maxLength: 8 }),
      async (files, patterns) => {
        const root = makeTree(files);
        // Here \\b knows ASCII words.
        const isAscii = !/[^\0-\x7f]/.test(Object.values(files).join(""));
        for (const [text, ignoreCase] of patterns) {
          if (text.includes("\\b") && !isAscii) continue;
          const expected = askRipgrep(root, text, ignoreCase);
          const input = { pattern: text, ignore_case: ignoreCase, limit: 5000 };
          const { text: found, isError } = await callTool(withoutIt, input, contextFor(root));
          if (expected === undefined || isError) continue;
          const lines = found.startsWith("No line") ? [] : found.split("\n").sort();
          expect({ text, lines }).toEqual({ text, lines: expected });
          compared += expected.length;
        }
      },
    ),
    { numRuns: tried },
  );
  expect(compared).toBeGreaterThan(tried / 2);
}, 600_000);

/** Undefined: it refuses the pattern. */
function askRipgrep(root: string, text: string, ignoreCase: boolean): string[] | undefined {
  const words = ["--no-config", "--no-ignore", "--hidden", "-n", "--no-heading", "--with-filename"];
  const more = [...(ignoreCase ? ["-i"] : []), "-e", text, "./"];
  try {
    const output = execFileSync(ripgrep?.file ?? "", [...words, ...more], {
      cwd: root,
      stdio: "pipe",
    });
    const lines = output.toString().split("\n");
    return lines
      .filter((each) => each !== "")
      .map((each) => each.slice(2))
      .sort();
  } catch (error) {
    return (error as { status?: number }).status === 1 ? [] : undefined;
  }
}
