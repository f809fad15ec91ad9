import { execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { expect, test } from "vitest";
import { bindWorkspace } from "../../../workspaces/bind-workspace.ts";
import { makeTree } from "../file-tool.test-support.ts";
import { selectFiles } from "./select-files.ts";

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
    { numRuns: Number(process.env["MANDATE_IGNORE_RUNS"] ?? 60) },
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

test("the order is that of paths, segment by segment", () => {
  const root = makeTree({ "a/z": "", "a-b": "", "a.b": "", ab: "", B: "", "a/b/c": "" });
  expect(select(root)).toEqual(["B", "a/b/c", "a/z", "a-b", "a.b", "ab"]);
});
