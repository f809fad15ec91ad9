import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { beforeEach, expect, test } from "vitest";
import { sha256 } from "../../events/hash-chain.ts";
import { testFolder } from "../../testing/test-folder.test-support.ts";
import { WorkflowSource } from "./workflow-source.ts";

let root = "";
let trusted: Set<string>;
let home = "";
let project = "";
let below = "";

beforeEach(() => {
  root = testFolder();
  trusted = new Set();
  home = join(root, "home");
  project = join(root, "project");
  below = join(project, "packages", "one");
  mkdirSync(join(project, ".git"), { recursive: true });
  mkdirSync(below, { recursive: true });
});

/** A script of this name, in a file that need not have it. Returns its text. */
function write(file: string, name: string, description = file): string {
  const text = `export const meta = { name: '${name}', description: '${description}' }\nreturn 1\n`;
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, text);
  return text;
}

function source(environment: Record<string, string> = {}): WorkflowSource {
  return new WorkflowSource({
    environment: { HOME: home, ...environment },
    trusted: () => trusted,
  });
}

test("scripts are found from the folder up to the root of its repository, then those of the person", () => {
  write(join(below, ".claude", "workflows", "near.js"), "same");
  write(join(project, ".mandate", "workflows", "ours.js"), "same");
  write(join(project, ".claude", "workflows", "theirs.js"), "other");
  write(join(root, ".claude", "workflows", "outside.js"), "outside");
  write(join(home, ".claude", "workflows", "own.js"), "other");
  const found = source().files(below);
  expect(
    found.map(({ file, name, origin }) => [file.slice(root.length + 1), name, origin]),
  ).toEqual([
    ["project/packages/one/.claude/workflows/near.js", "same", "project"],
    ["project/.mandate/workflows/ours.js", "same", "project"],
    ["project/.claude/workflows/theirs.js", "other", "project"],
    ["home/.claude/workflows/own.js", "other", "user"],
  ]);
  expect(source().named("same", below).file).toContain("near.js");
  expect(source().named("other", below).origin).toBe("project");
  expect(source().named("other", null).origin).toBe("user");
});

test("only .js files directly in the folder are listed, by the name that meta gives", () => {
  const folder = join(project, ".claude", "workflows");
  for (const file of ["a.js", "b.workflow.js", "c.mjs", "d.ts", "sub/e.js", "f.js.txt"]) {
    write(join(folder, file), `name of ${file}`);
  }
  const names = source()
    .files(project)
    .map(({ name }) => name);
  expect(names).toEqual(["name of a.js", "name of b.workflow.js"]);
  expect(() => source().named("a", project)).toThrow('There is no workflow "a". Known: name of');
});

test("another folder of the person counts in place of the usual one", () => {
  write(join(home, ".claude", "workflows", "own.js"), "own");
  write(join(root, "elsewhere", "workflows", "moved.js"), "moved");
  const found = source({ CLAUDE_CONFIG_DIR: join(root, "elsewhere") }).files(null);
  expect(found.map(({ isTrusted, name }) => [name, isTrusted])).toEqual([["moved", true]]);
});

test("in the home folder the person's scripts are the person's", () => {
  write(join(home, ".claude", "workflows", "own.js"), "own");
  const found = source().files(home);
  expect(found.map(({ isTrusted, origin }) => [origin, isTrusted])).toEqual([["user", true]]);
});

test("a plugin's scripts have its name in front, and its manifest names no folder outside it", () => {
  const plugins = join(home, ".claude", "plugins");
  for (const [plugin, workflows] of [
    ["one", undefined],
    ["two", "flows"],
    ["out", "../../../../project"],
  ] as const) {
    const folder = join(plugins, "cache", plugin);
    write(join(folder, workflows === "flows" ? "flows" : "workflows", "m.js"), "m");
    mkdirSync(join(folder, ".claude-plugin"));
    writeFileSync(
      join(folder, ".claude-plugin", "plugin.json"),
      JSON.stringify({ name: plugin, workflows }),
    );
  }
  write(join(project, "m.js"), "outside");
  const names = source()
    .files(null)
    .map(({ isTrusted, name }) => [name, isTrusted]);
  expect(names).toEqual([
    ["one:m", false],
    ["two:m", false],
  ]);
});

test("a script of a project is trusted by its content: an edit takes that away", () => {
  const file = join(project, ".claude", "workflows", "m.js");
  const text = write(file, "m");
  expect(() => source().child("m", project)).toThrow("is not trusted: see mandate workflow check");
  trusted.add(sha256(text));
  expect(source().child("m", project).file).toBe(file);
  write(file, "m", "edited");
  expect(() => source().child("m", project)).toThrow("is not trusted");
});

test("a file that cannot run is listed with its place", () => {
  const file = join(project, ".claude", "workflows", "m.js");
  write(file, "m");
  writeFileSync(file, "export const meta = { name: 'm', description: 'd' }\nlet x: number = 1\n");
  const [found] = source().files(project);
  expect(found).toMatchObject({ name: null });
  expect(found && "problem" in found && found.problem).toContain(`${file}:2:6: Unexpected token`);
});
