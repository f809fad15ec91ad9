import {
  linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  symlinkSync,
  unlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { expect, test } from "vitest";
import { CallDenied } from "../../ports/mandate-error.ts";
import { cases } from "../../testing/cases.test-support.ts";
import type { Tool, ToolContext } from "../tool.ts";
import { editFile } from "./edit-file.ts";
import { callTool, contextFor, makeTree } from "./file-tool.test-support.ts";
import { globFiles } from "./glob-files.ts";
import { grepTool } from "./grep-files.ts";
import { listFiles } from "./list-files.ts";
import { readFile } from "./read-file.ts";
import { findRipgrep } from "./search/ripgrep.ts";
import { writeFile } from "./write-file.ts";

const grep = grepTool(async () => null);
const grepByRipgrep = grepTool(findRipgrep);

/** Every parameter that a path, or something like one, can be put into. */
const parameters: Readonly<Record<string, (path: string) => readonly [Tool, object]>> = {
  "read_file path": (path) => [readFile, { path }],
  "write_file path": (path) => [writeFile, { path, content: "EVIL" }],
  "edit_file path": (path) => [editFile, { path, old_text: "CANARY", new_text: "EVIL" }],
  "list_files path": (path) => [listFiles, { path, recursive: true }],
  "glob path": (path) => [globFiles, { path, pattern: "**", include_ignored: true }],
  "glob pattern": (pattern) => [globFiles, { pattern, include_ignored: true }],
  "grep path": (path) => [grep, { path, pattern: "CANARY", include_ignored: true }],
  "grep glob": (glob) => [grep, { glob, pattern: "CANARY", include_ignored: true }],
};

function layTraps(): { base: string; root: string; context: ToolContext } {
  const base = makeTree({
    "app/src/a.txt": "inside",
    "app/home/mandate.db": "CANARY",
    secret: "CANARY",
    "app-evil/secret": "CANARY",
    "outside/secret": "CANARY",
    "outside/folder/secret": "CANARY",
  });
  const root = join(base, "app");
  // A name that no path below contains: seeing it in an answer means having been outside.
  for (const folder of ["", "app-evil", "outside", "outside/folder", "app/home"]) {
    writeFileSync(join(base, folder, "unseen"), "CANARY");
  }
  symlinkSync("../outside", join(root, "out"));
  symlinkSync("../outside/secret", join(root, "file-out"));
  symlinkSync("out", join(root, "chain"));
  symlinkSync("../outside/missing", join(root, "dangling"));
  symlinkSync("loop", join(root, "loop"));
  symlinkSync("src", join(root, "in"));
  symlinkSync("home", join(root, "home-link"));
  symlinkSync("../outside/secret", join(root, "src/.gitignore"));
  return { base, root, context: contextFor(root, { forbidden: [join(root, "home")] }) };
}

/** Every file outside the workspace, and what the runtime keeps inside it. */
function outsideWorld(base: string): string {
  const places = ["app-evil", "outside", "app/home"].flatMap((folder) =>
    readdirSync(join(base, folder), { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name))
      .map((path) => `${path}=${readFileSync(path, "utf8")}`),
  );
  return [...places.sort(), ...readdirSync(base).sort()].join("\n");
}

const segments = [
  ...["..", ".", "", "src", "a.txt", "out", "chain", "in", "home", "home-link", "loop", "*", "**"],
  ...["dangling", "file-out", "secret", "folder", "..%2f", "...", "\0", "app-evil", "proc", "self"],
  ...[
    "root",
    "cwd",
    "\u2025",
    "..\u200b",
    "~",
    "new",
    "{..,out}",
    "[.][.]",
    "\\..",
    "fd",
    "-",
    "--",
  ],
  ...[
    "..;",
    "%2e%2e",
    "..\\",
    "\u002e\u002e",
    "$HOME",
    "`id`",
    "mandate.db",
    ".git",
    "CON",
    "a.txt ",
  ],
];

function hostilePath(base: string): fc.Arbitrary<string> {
  const prefix = ["", "", "/", "./", "../", `${base}/app/`, `${base}/app-evil/`, `${base}/`, "//"];
  const more = [
    "/proc/self/cwd/",
    "/dev/fd/",
    "file://",
    "~/",
    "\\\\?\\",
    "-f",
    "--pre=",
    "{,..}/",
  ];
  return fc
    .tuple(
      fc.constantFrom(...prefix, ...more),
      fc.array(
        fc.oneof(
          { weight: 5, arbitrary: fc.constantFrom(...segments) },
          { weight: 1, arbitrary: fc.string({ unit: "binary", maxLength: 5 }) },
        ),
        { maxLength: 6 },
      ),
    )
    .map(([first, rest]) => first + rest.join("/"));
}

const attacksOnEach = cases(1250);

test.each(Object.entries(parameters))(
  "1,250 paths of any shape as %s: nothing outside is shown or changed",
  async (_, call) => {
    const { base, context } = layTraps();
    const before = outsideWorld(base);
    const told = { answers: 0, denials: 0 };
    await fc.assert(
      fc.asyncProperty(hostilePath(base), async (path) => attack(call(path), context, told)),
      { numRuns: attacksOnEach },
    );
    expect(outsideWorld(base)).toBe(before);
    expect(told.answers + told.denials).toBeGreaterThan(attacksOnEach / 2);
  },
  60_000,
);

async function attack(
  [tool, input]: readonly [Tool, object],
  context: ToolContext,
  told: { answers: number; denials: number },
): Promise<void> {
  const parsed = tool.input.safeParse(input);
  if (!parsed.success) return;
  try {
    const { text, isError } = await callTool(tool, input, context);
    // An error repeats what was asked for, so only names that nobody asked for count there.
    expect(text).not.toMatch(isError ? /unseen/ : /unseen|^(?!.*file-out).*CANARY/m);
    told.answers += 1;
  } catch (error) {
    if (!(error instanceof CallDenied)) throw error;
    told.denials += 1;
  }
}

test("the same through ripgrep, for the paths that get as far", async (context) => {
  if ((await findRipgrep()) === null) return context.skip("ripgrep is not installed");
  const { base, context: toolContext } = layTraps();
  const told = { answers: 0, denials: 0 };
  for (const glob of ["**", "../*", "out/**", "{..,out}/**", "/**", "home/**", "-f", "--pre=sh"]) {
    const input = { glob, pattern: "CANARY|inside", include_ignored: true };
    await attack([grepByRipgrep, input], toolContext, told);
  }
  for (const path of [".", "src", "in", "in/a.txt", "out", "home", "..", "/", "chain/secret"]) {
    await attack([grepByRipgrep, { path, pattern: "CANARY|inside" }], toolContext, told);
  }
  expect(told).toEqual({ answers: 12, denials: 5 });
  expect(outsideWorld(base)).toContain("secret=CANARY");
});

test("a pattern cannot become an option or a command", async () => {
  const root = makeTree({ "a.txt": "--pre=touch x\n$(touch x)\n-f /etc/passwd\n; touch x\n" });
  for (const pattern of ["--pre=touch x", "\\$\\(touch x\\)", "-f /etc/passwd", "; touch x"]) {
    const { text } = await callTool(grepByRipgrep, { pattern }, contextFor(root));
    expect(text).toMatch(/^a\.txt:\d:/);
  }
  expect(readdirSync(root)).toEqual(["a.txt"]);
});

test("a hard link is read under its inner name, and not edited", async () => {
  const { base, root, context } = layTraps();
  linkSync(join(base, "outside/secret"), join(root, "hard"));
  const input = { path: "hard", old_text: "CANARY", new_text: "EVIL" };
  await expect(callTool(editFile, input, context)).rejects.toMatchObject({
    rule: "path_hard_link",
  });
  expect(readFileSync(join(base, "outside/secret"), "utf8")).toBe("CANARY");
});

test("a tree of odd things is searched to its end", async () => {
  const root = makeTree({ "a/b/c.txt": "foo", z: "foo" });
  mkdirSync(join(root, "x".repeat(250)));
  let deep = root;
  for (let depth = 0; depth < 60; depth += 1) {
    deep = join(deep, "d");
    mkdirSync(deep);
  }
  writeFileSync(join(deep, "last"), "foo");
  symlinkSync(root, join(deep, "back"));
  const { text } = await callTool(grep, { pattern: "foo", output: "files" }, contextFor(root));
  expect(text).toBe(`a/b/c.txt\n${"d/".repeat(60)}last\nz`);
  unlinkSync(join(deep, "back"));
});
