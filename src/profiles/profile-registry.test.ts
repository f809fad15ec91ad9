import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import type { Profile } from "./profile.ts";
import { loadProfiles } from "./profile-registry.ts";
import { shippedProfiles } from "./shipped-profiles.ts";

let base: string;

beforeEach(() => {
  base = mkdtempSync(join(tmpdir(), "mandate-profiles-"));
});

afterEach(() => rmSync(base, { recursive: true, force: true }));

function place(folder: string, file: string, content: string): void {
  mkdirSync(join(base, folder), { recursive: true });
  writeFileSync(join(base, folder, file), content);
}

function profile(name: string, description = "d", keys = ""): string {
  return `---\nname: ${name}\ndescription: ${description}\n${keys}\n---\nPrompt.\n`;
}

function load(folders: readonly string[], inline: readonly Profile[] = []) {
  const directories = folders.map((folder) => ({ path: join(base, folder), origin: folder }));
  return loadProfiles({ directories, inline });
}

test("nothing is read before someone asks", () => {
  const registry = load(["later"]);
  place("later", "a.md", profile("a"));
  expect(registry.names()).toEqual(["a"]);
});

test("a later place replaces a profile of the same name, and inline wins over all", () => {
  place("one", "a.md", profile("a", "first", "allowedTools: [shell]"));
  place("two", "other-name.md", profile("a", "second"));
  expect(load(["one"]).get("a")).toMatchObject({ description: "first", tools: ["shell"] });
  const second = load(["one", "two"]).get("a");
  expect(second?.description).toBe("second");
  expect(second?.tools).toBeUndefined();
  expect(second?.origin).toBe(`two: ${join(base, "two/other-name.md")}`);
  const text = { name: "a", description: "third", prompt: "", origin: "inline" };
  const inline: Profile = { ...text, capabilities: ["subtask"] };
  expect(load(["one", "two"], [inline]).get("a")).toBe(inline);
});

test("one bad file is reported and the others load", () => {
  place("one", "bad.md", profile("bad", "d", "allowedTool: []"));
  place("one", "good.md", profile("good"));
  place("one", "README.md", "# About");
  place("one", "notes.txt", "x");
  const registry = load(["one", "missing"]);
  expect(registry.names()).toEqual(["good"]);
  expect(registry.problems).toEqual([
    {
      name: "bad",
      file: join(base, "one/bad.md"),
      message: expect.stringContaining('bad.md:4: unknown key "allowedTool"'),
    },
  ]);
});

test("a broken file takes its name with it instead of uncovering a wider profile below", () => {
  place("one", "coder.md", profile("coder", "d", 'allowedTools: "*"'));
  place("two", "mine.md", profile("coder", "d", "allowdTools: []"));
  const registry = load(["one", "two"]);
  expect(registry.get("coder")).toBeUndefined();
  expect(registry.problemOf("coder")?.file).toBe(join(base, "two/mine.md"));
  place("two", "mine.md", "no front matter at all");
  place("two", "coder.md", "no front matter at all");
  expect(load(["one", "two"]).get("coder")).toBeUndefined();
});

test("two files of one folder with the same name are both out", () => {
  place("one", "a.md", profile("a", "narrow", "allowedTools: []"));
  place("one", "b.md", profile("a", "wide", 'allowedTools: "*"'));
  const registry = load(["one"]);
  expect(registry.get("a")).toBeUndefined();
  expect(registry.problems[0]?.message).toMatch(/another file here is called "a" too/);
});

test("pipes, devices, folders and links that lead out are not read", () => {
  place("secrets", "secret.md", profile("secret"));
  place("one", "good.md", profile("good"));
  execFileSync("mkfifo", [join(base, "one/pipe.md")]);
  mkdirSync(join(base, "one/folder.md"));
  symlinkSync("/dev/zero", join(base, "one/device.md"));
  symlinkSync("../secrets/secret.md", join(base, "one/out.md"));
  symlinkSync("gone.md", join(base, "one/dangling.md"));
  const registry = load(["one"]);
  expect(registry.names()).toEqual(["good"]);
  expect(registry.problems).toHaveLength(5);
});

test("a link is followed where the operator said so", () => {
  place("dotfiles", "a.md", profile("a"));
  mkdirSync(join(base, "one"));
  symlinkSync("../dotfiles/a.md", join(base, "one/a.md"));
  const directories = [{ path: join(base, "one"), origin: "config", followLinks: true }];
  expect(loadProfiles({ directories }).names()).toEqual(["a"]);
});

test("names that every object has are not profiles", () => {
  for (const name of ["__proto__", "constructor", "toString"]) {
    expect(load([]).get(name)).toBeUndefined();
  }
});

test("what is shipped loads, and general is the one that delegates", () => {
  const registry = loadProfiles({ directories: [shippedProfiles] });
  expect(registry.problems).toEqual([]);
  expect(registry.names()).toEqual(
    expect.arrayContaining(["analyst", "coder", "general", "researcher", "summarizer"]),
  );
  expect(registry.get("general")?.tools).toEqual(expect.arrayContaining(["delegate_task"]));
  expect(registry.get("analyst")).toMatchObject({ workspace: { allowWrites: false } });
  expect(registry.get("analyst")?.prompt).toMatch(/evidence/);
  for (const each of registry.all()) expect(each.tools).toBeInstanceOf(Array);
});
