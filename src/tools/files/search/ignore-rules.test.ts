import { execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { expect, test } from "vitest";
import { cases } from "../../../testing/cases.test-support.ts";
import { bindWorkspace } from "../../../workspaces/bind-workspace.ts";
import { contextFor, makeTree } from "../file-tool.test-support.ts";
import { searchAbout, selectFiles } from "./select-files.ts";

function select(root: string, path = "."): string[] {
  const binding = bindWorkspace({ root, isolation: "shared", allowWrites: false });
  const found = selectFiles(binding, { path, includeIgnored: false });
  return Array.from(found, (entry) => entry?.path).filter((each) => each !== undefined);
}

/** What git itself leaves over: it is asked about files that it does not know yet. */
function askGit(root: string): string[] {
  const none = { GIT_CONFIG_NOSYSTEM: "1", GIT_CONFIG_GLOBAL: "/dev/null", HOME: root };
  const options = { cwd: root, env: { PATH: process.env["PATH"], ...none } };
  execFileSync("git", ["init", "-q"], options);
  const words = ["ls-files", "--others", "--exclude-standard", "-z"];
  return execFileSync("git", words, options).toString().split("\0").slice(0, -1);
}

const files = [
  ...["a.ts", "b.log", "build/x.ts", "build/y/z.log", "src/a.ts", "src/build/q", "src/x/b.log"],
  ...["src/x/deep/c.ts", "foo/bar", "foo/baz/bar", "bar/foo", ".env", ".hidden/k", "a b", "#x"],
  ...["!y", "x[1]", "x1", "Foo", "tail ", "a/b/c/d", "b\\c"],
];
const rule = fc.oneof(
  fc.constantFrom(
    ...[
      "*.log",
      "build",
      "build/",
      "/build",
      "/build/",
      "src/build",
      "**/build",
      "build/**",
      "*.ts",
    ],
    ...[
      "!a.ts",
      "!*.log",
      "/*",
      "!/src",
      "!/src/",
      "/src/*",
      "!/src/x",
      "foo/bar",
      "foo/*",
      "**/bar",
    ],
    ...[
      "foo/**/bar",
      "**",
      "*",
      "!*/",
      "a b",
      "\\#x",
      "#x",
      "\\!y",
      "!y",
      "x[1]",
      "x[[]1]",
      "x\\[1\\]",
    ],
    ...[
      "[a-f]*",
      "[!a-f]*",
      "[^a]*",
      "?",
      "??",
      "*.[lt]*",
      ".*",
      "tail\\ ",
      "tail ",
      "a/**",
      "a/**/d",
    ],
    ...[
      "/a/*/c",
      "b\\\\c",
      "x[",
      "x\\",
      "",
      " ",
      "/",
      "**/",
      "src/**/",
      "f**o",
      "/**/c",
      "*/x",
      "!**/d",
    ],
    ...["[[:upper:]]*", "?.ts", "x[]1]", "x[!]]"],
  ),
  fc.stringMatching(/^!?\/?[abx*?/.]{1,6}\/?$/),
);

test("a .gitignore leaves over what git leaves over", () => {
  fc.assert(
    fc.property(
      fc.array(rule, { maxLength: 6 }),
      fc.option(fc.array(rule, { maxLength: 4 }), { nil: undefined }),
      fc.constantFrom("\n", "\r\n"),
      (above, below, end) => {
        const root = makeTree(Object.fromEntries(files.map((path) => [path, "x"])));
        writeFileSync(join(root, ".gitignore"), above.join(end));
        if (below !== undefined) writeFileSync(join(root, "src/.gitignore"), below.join(end));
        const expected = askGit(root).sort();
        expect({ above, below, end, files: select(root).sort() }).toEqual({
          ...{ above, below, end },
          files: expected,
        });
      },
    ),
    { numRuns: cases(60) },
  );
}, 300_000);

test("rules of the folders above hold below, and a folder that is named is looked into", () => {
  const root = makeTree({
    ".gitignore": "*.log\nout\n",
    "src/.gitignore": "!keep.log\n",
    "src/a.log": "",
    "src/keep.log": "",
    "src/b.ts": "",
    "out/c.ts": "",
    "out/d.log": "",
  });
  expect(select(root, "src")).toEqual(["src/.gitignore", "src/b.ts", "src/keep.log"]);
  expect(select(root)).not.toContain("out/c.ts");
  expect(select(root, "out")).toEqual(["out/c.ts"]);
});

test("a .gitignore that is huge, or of another encoding, ignores nothing and harms nothing", () => {
  const huge = makeTree({ ".gitignore": "*\n".repeat(200_000), "a.ts": "" });
  expect(select(huge)).toContain("a.ts");
  const broken = makeTree({ ".gitignore": Uint8Array.of(0xff, 0xfe, 0, 42, 0), "a.ts": "" });
  expect(select(broken)).toContain("a.ts");
});

/** As many states as there are names: what is hardest to match. */
const costly = (length: number) => `*a${"?".repeat(length)}`;

function longName(index: number): string {
  const letters = Array.from({ length: 200 }, (_, at) => "ab"[((at * at * (index + 2)) >> 3) & 1]);
  return `${index}${letters.join("")}`;
}

test("globs longer than anybody writes count as none, in one file or from the root down", () => {
  const globs = (count: number) => [...Array(count).fill(costly(998)), "*.log", "x*"].join("\n");
  const tree = { x1: "", "a.log": "", "src/x2": "", "src/x3y": "", "src/b.log": "" };
  const many = makeTree({ ...tree, ".gitignore": globs(9) });
  expect(select(many)).toEqual([".gitignore", "a.log", "src/b.log", "src/x2", "src/x3y", "x1"]);
  const few = makeTree({ ...tree, ".gitignore": globs(5), "src/.gitignore": `${globs(4)}\n!x2` });
  expect(select(few)).toEqual([".gitignore", "src/.gitignore"]);
  const deep = makeTree({
    ...tree,
    ".gitignore": `${costly(998)}\n*.log`,
    "src/.gitignore": globs(8),
  });
  expect(select(deep)).toEqual([".gitignore", "src/.gitignore", "src/x2", "src/x3y", "x1"]);
});

test("plain names do not count as globs, however many there are", () => {
  const names = Array.from({ length: 4000 }, (_, index) => `name-${index}`);
  const root = makeTree({ ".gitignore": names.join("\n"), "name-3999": "", "name-4000": "" });
  expect(select(root)).toEqual([".gitignore", "name-4000"]);
});

test("the rules of a folder that was left hold no longer, and those above it still do", () => {
  const root = makeTree({
    ".gitignore": "*.log",
    "a/.gitignore": "x",
    "a/b/.gitignore": "!keep.log\ny",
    "a/b/keep.log": "",
    "a/b/c/y": "",
    "a/b/c/x": "",
    "a/d/y": "",
    "a/d/x": "",
    "a/d/keep.log": "",
    "ab/x": "",
    "ab/y": "",
  });
  expect(select(root)).toEqual([
    ...[".gitignore", "a/.gitignore", "a/b/.gitignore", "a/b/keep.log", "a/d/y", "ab/x", "ab/y"],
  ]);
});

/** One folder whose rules are as hard as they may be, others whose rules are too many. */
function makeHardTree(): string {
  const many = Array.from({ length: 700 }, (_, index) => `*${"[ab]?".repeat(60)}${index}`);
  const hard = Array.from({ length: 50 }, (_, index) => `${costly(140)}${index}`);
  const files: Record<string, string> = {
    "hard/.gitignore": hard.join("\n"),
    "spaces/.gitignore": `${" ".repeat(200_000)}x`,
  };
  for (let index = 0; index < 6; index += 1) {
    files[`d${index}/.gitignore`] = many.join("\n");
    files[`d${index}/${longName(index)}`] = "";
    files[`hard/${longName(index)}`] = "";
  }
  return makeTree(files);
}

test("others can be let in between any two names, also of those that are left out", () => {
  const names = Array.from({ length: 50 }, (_, index) => `x${index}`);
  const root = makeTree({
    ".gitignore": "x*",
    ...Object.fromEntries(names.map((each) => [each, ""])),
  });
  const binding = bindWorkspace({ root, isolation: "shared", allowWrites: false });
  const found = Array.from(selectFiles(binding, { path: ".", includeIgnored: false }));
  expect(found.filter((entry) => entry === null).length).toBeGreaterThanOrEqual(51);
});

test("what a search is about is found in turns, and not when nobody waits for it", async () => {
  const part = { path: ".", include_ignored: false };
  const context = contextFor(makeHardTree());
  let turns = 0;
  const counting = setInterval(() => {
    turns += 1;
  });
  try {
    const about = await searchAbout("grep", part, context);
    expect(about.values).toHaveLength(20);
    expect(turns).toBeGreaterThan(1);
  } finally {
    clearInterval(counting);
  }
  const signal = AbortSignal.abort(new Error("It was stopped."));
  await expect(searchAbout("grep", part, { ...context, signal })).rejects.toThrow("stopped");
});

test("the order is that of paths, segment by segment", () => {
  const root = makeTree({ "a/z": "", "a-b": "", "a.b": "", ab: "", B: "", "a/b/c": "" });
  expect(select(root)).toEqual(["B", "a/b/c", "a/z", "a-b", "a.b", "ab"]);
});
