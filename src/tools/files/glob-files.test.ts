import { execFileSync } from "node:child_process";
import { symlinkSync, utimesSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { expect, test } from "vitest";
import { cases } from "../../testing/cases.test-support.ts";
import { callTool, contextFor, makeTree } from "./file-tool.test-support.ts";
import { globFiles } from "./glob-files.ts";
import { findRipgrep } from "./search/ripgrep.ts";

const files = [
  ...["a.ts", "b.tsx", "c.test.ts", "README.md", ".env", "src/a.ts", "src/b.js", "src/x/a.ts"],
  ...["src/x/y/deep.ts", "src/[id]/page.tsx", "test/a.ts", "{odd}.ts", ".github/w.yml", "é.ts"],
];

async function glob(root: string, input: object): Promise<string[]> {
  const { text } = await callTool(globFiles, input, contextFor(root));
  return text.split("\n");
}

test.each([
  [
    "*.ts",
    [
      "a.ts",
      "c.test.ts",
      "src/a.ts",
      "src/x/a.ts",
      "src/x/y/deep.ts",
      "test/a.ts",
      "{odd}.ts",
      "é.ts",
    ],
  ],
  [
    "**/*.ts",
    [
      "a.ts",
      "c.test.ts",
      "src/a.ts",
      "src/x/a.ts",
      "src/x/y/deep.ts",
      "test/a.ts",
      "{odd}.ts",
      "é.ts",
    ],
  ],
  ["/*.ts", ["a.ts", "c.test.ts", "{odd}.ts", "é.ts"]],
  ["./*.ts", ["a.ts", "c.test.ts", "{odd}.ts", "é.ts"]],
  ["src/*.ts", ["src/a.ts"]],
  ["src/**/*.ts", ["src/a.ts", "src/x/a.ts", "src/x/y/deep.ts"]],
  ["src/", ["src/[id]/page.tsx", "src/a.ts", "src/b.js", "src/x/a.ts", "src/x/y/deep.ts"]],
  ["{src,test}/a.ts", ["src/a.ts", "test/a.ts"]],
  ["src/{x/{a,y/deep},a}.ts", ["src/a.ts", "src/x/a.ts", "src/x/y/deep.ts"]],
  ["*.{ts,tsx}x", ["b.tsx", "src/[id]/page.tsx"]],
  ["[ab].*", ["a.ts", "b.tsx", "src/a.ts", "src/b.js", "src/x/a.ts", "test/a.ts"]],
  ["/[!a-c].ts", ["é.ts"]],
  ["?.ts", ["a.ts", "src/a.ts", "src/x/a.ts", "test/a.ts", "é.ts"]],
  ["src/\\[id\\]/*", ["src/[id]/page.tsx"]],
  ["{odd}.ts", ["{odd}.ts"]],
  [".*", [".env"]],
  ["**/w.yml", [".github/w.yml"]],
  ["**/x/**", ["src/x/a.ts", "src/x/y/deep.ts"]],
])("%j", async (pattern, expected) => {
  const root = makeTree(Object.fromEntries(files.map((path) => [path, ""])));
  expect(await glob(root, { pattern })).toEqual(expected);
});

test("a pattern counts from the folder it is looked for in", async () => {
  const root = makeTree(Object.fromEntries(files.map((path) => [path, ""])));
  expect(await glob(root, { pattern: "x/*.ts", path: "src" })).toEqual(["src/x/a.ts"]);
  expect(await glob(root, { pattern: "/*.ts", path: "src/x" })).toEqual(["src/x/a.ts"]);
});

test("what git ignores is left out unless it is asked for, and .git always", async () => {
  const root = makeTree({
    ".gitignore": "dist\n*.gen.ts\n",
    "a.ts": "",
    "b.gen.ts": "",
    "dist/c.ts": "",
    "node_modules/m/d.ts": "",
    ".git/e.ts": "",
  });
  expect(await glob(root, { pattern: "*.ts" })).toEqual(["a.ts"]);
  expect(await glob(root, { pattern: "*.ts", include_ignored: true })).toEqual([
    ...["a.ts", "b.gen.ts", "dist/c.ts", "node_modules/m/d.ts"],
  ]);
  expect(await glob(root, { pattern: "*.ts", path: "node_modules" })).toEqual([
    "node_modules/m/d.ts",
  ]);
});

test("links are named with what they say and never followed; the runtime's folder is not seen", async () => {
  const outside = makeTree({ "secret.ts": "" });
  const root = makeTree({ "a.ts": "", "home/mandate.ts": "" });
  symlinkSync(outside, join(root, "out"));
  symlinkSync(join(outside, "secret.ts"), join(root, "l.ts"));
  symlinkSync("..", join(root, "up"));
  const context = contextFor(root, { forbidden: [join(root, "home")] });
  const { text } = await callTool(globFiles, { pattern: "**/*.ts" }, context);
  expect(text).toBe(`a.ts\nl.ts -> ${join(outside, "secret.ts")}`);
  const denied = callTool(globFiles, { pattern: "*.ts", path: "out" }, context);
  await expect(denied).rejects.toMatchObject({ rule: "path_outside_workspace" });
});

test("by time the newest comes first, and what is as old stays in order", async () => {
  const root = makeTree({ a: "", b: "", c: "", d: "" });
  for (const [name, time] of [
    ["a", 10],
    ["b", 30],
    ["c", 10],
    ["d", 20],
  ] as const) {
    utimesSync(join(root, name), time, time);
  }
  expect(await glob(root, { pattern: "*", sort: "modified" })).toEqual(["b", "d", "a", "c"]);
  const capped = await glob(root, { pattern: "*", sort: "modified", limit: 2 });
  expect(capped).toEqual(["b", "d", expect.stringMatching(/^\[2 files shown, and there are more/)]);
});

test("the limit is said, and not when it just fits", async () => {
  const root = makeTree({ a: "", b: "", c: "" });
  expect(await glob(root, { pattern: "*", limit: 3 })).toEqual(["a", "b", "c"]);
  expect(await glob(root, { pattern: "*", limit: 2 })).toHaveLength(3);
});

test("nothing found, no such folder, a file as folder and a hopeless pattern are told apart", async () => {
  const root = makeTree({ a: "", "x\ny": "" });
  expect((await glob(root, { pattern: "*.ts" }))[0]).toMatch(/^No file below "\." is like/);
  expect(await glob(root, { pattern: "x*" })).toEqual(['"x\\ny"']);
  const context = contextFor(root);
  for (const input of [
    { pattern: "*", path: "gone" },
    { pattern: "*", path: "a" },
  ]) {
    expect(await callTool(globFiles, input, context)).toMatchObject({ isError: true });
  }
  for (const pattern of ["../*", "a/../b", "{a,b}".repeat(20)]) {
    expect(await callTool(globFiles, { pattern }, context)).toMatchObject({ isError: true });
  }
});

test("a pattern of stars is no slower than any other", async () => {
  const root = makeTree({ ["a".repeat(200)]: "" });
  const [first] = await glob(root, { pattern: `${"*a".repeat(60)}b` });
  expect(first).toMatch(/^No /);
});

test("ripgrep finds the same files by the same patterns", async (context) => {
  const ripgrep = await findRipgrep();
  if (ripgrep === null) return context.skip("ripgrep is not installed");
  // To ripgrep ? is one byte, to us one character.
  const plain = files.filter((path) => !path.includes("é"));
  const root = makeTree(Object.fromEntries(plain.map((path) => [path, ""])));
  const part = fc.constantFrom(
    "*",
    "**",
    "a",
    "src",
    "x",
    "?",
    "[a-c]",
    ".ts",
    "*.ts",
    "/",
    "/",
    "{a,b}",
  );
  const pattern = fc.array(part, { minLength: 1, maxLength: 5 }).map((parts) => parts.join(""));
  // What both write alike: `**` as a whole segment, no doubled slash, no slash at the end.
  const shared = pattern.filter((text) => !/\/\/|\/$|\*\*[^/]|[^/]\*\*|\*\*\*/.test(text));
  await fc.assert(
    fc.asyncProperty(shared, async (text) => {
      const words = [
        "--no-config",
        "--files",
        "--hidden",
        "--no-ignore",
        "--sort=path",
        "-g",
        text,
      ];
      let expected: string[];
      try {
        expected = execFileSync(ripgrep.file, words, { cwd: root, stdio: "pipe" })
          .toString()
          .split("\n");
      } catch {
        expected = [""];
      }
      const { text: found } = await callTool(globFiles, { pattern: text }, contextFor(root));
      const ours = found.startsWith("No file") ? [] : found.split("\n");
      expect({ text, files: ours.sort() }).toEqual({ text, files: expected.slice(0, -1).sort() });
    }),
    { numRuns: cases(150) },
  );
}, 60_000);

test("what a call is about is every file it would name", async () => {
  const root = makeTree({ "src/a.ts": "", "secrets/k.ts": "", "secrets/k.md": "" });
  const context = contextFor(root);
  const about = async (input: object) =>
    (await globFiles.about?.(globFiles.input.parse(input), context))?.values;
  expect(await about({ pattern: "*.ts" })).toEqual(["secrets/k.ts", "src/a.ts"]);
  expect(await about({ pattern: "*.ts", path: "src" })).toEqual(["src/a.ts"]);
  expect(await about({ pattern: "*.py", path: "src" })).toEqual(["src"]);
});
