import { execFileSync } from "node:child_process";
import { mkdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, expect, test } from "vitest";
import { ManualClock } from "../../testing/manual-clock.ts";
import { testFolder } from "../../testing/test-folder.test-support.ts";
import type { Profile } from "./profile.ts";
import { layerOf, type ProfileLayer } from "./profile-layer.ts";
import { loadProfiles } from "./profile-registry.ts";
import { FolderSource, fixedSource } from "./profile-source.ts";
import { shippedProfiles } from "./read-profile-file.ts";

let base: string;

beforeEach(() => {
  base = testFolder();
});

function place(folder: string, file: string, content: string): void {
  mkdirSync(join(base, folder), { recursive: true });
  writeFileSync(join(base, folder, file), content);
}

function profile(name: string, description = "d", keys = ""): string {
  return `---\nname: ${name}\ndescription: ${description}\n${keys}\n---\nPrompt.\n`;
}

function profileOf(name: string): Profile {
  const text = { name, description: "theirs", prompt: "", origin: "claude" };
  return { ...text, capabilities: ["subtask"] };
}

function load(folders: readonly string[], inline: readonly ProfileLayer[] = []) {
  const sources = folders.map(
    (folder) => new FolderSource({ path: join(base, folder), origin: folder }),
  );
  return loadProfiles({ sources: [...sources, fixedSource(inline)], recheckMs: 0 });
}

test("nothing is read before someone asks", () => {
  const registry = load(["later"]);
  place("later", "a.md", profile("a"));
  expect(registry.names()).toEqual(["a"]);
});

test("an imported agent replaces a profile of its name, and is merged with none", () => {
  const imported = "importedFrom: claude\ntools: [grep, of_another_program]";
  place("user", "general.md", profile("general", "imported", "importedFrom: claude"));
  place("user", "coder.md", profile("coder", "imported", imported));
  const registry = loadProfiles({
    sources: [
      new FolderSource(shippedProfiles),
      new FolderSource({ path: join(base, "user"), origin: "user" }),
    ],
  });
  expect(registry.get("general")).toMatchObject({ description: "imported", prompt: "Prompt." });
  expect(Object.keys(registry.get("general") ?? {}).sort()).toEqual(
    ["capabilities", "description", "name", "origin", "origins", "prompt"].sort(),
  );
  expect(registry.get("coder")?.tools).toEqual(["grep", "of_another_program"]);
  expect(registry.problems).toEqual([]);
});

test("an imported agent of a project cannot take the place of a profile, and narrows none", () => {
  place("user", "mine.md", profile("mine"));
  for (const name of ["mine", "reviewer", "free"]) {
    place("project", `${name}.md`, profile(name, "theirs", "importedFrom: claude\ntools: []"));
  }
  const project = { root: base, isTrusted: true };
  const registry = loadProfiles({
    sources: [
      new FolderSource(shippedProfiles),
      new FolderSource({ path: join(base, "user"), origin: "user" }),
      new FolderSource({ path: join(base, "project"), origin: "workspace", project }),
    ],
  });
  expect(registry.get("mine")).toMatchObject({ description: "d" });
  expect(registry.get("reviewer")?.tools).toContain("read_file");
  expect(registry.get("free")).toMatchObject({ description: "theirs", tools: [] });
  expect(registry.problems.map(({ message }) => message)).toEqual([
    expect.stringMatching(
      /reviewer\.md: .*"reviewer" is a profile that you already have; a project/,
    ),
    expect.stringMatching(/mine\.md: .*"mine" is a profile that you already have/),
  ]);
});

test("the name of other programs' agents is no profile's, wherever it is written", () => {
  const text = { description: "d", prompt: "", origin: "program" };
  const sentence =
    'A profile cannot be called "external", which is reserved for agents that other programs run. Choose another name.';
  place("one", "external.md", "---\ndescription: d\n---\nPrompt.\n");
  place("one", "named.md", profile("external"));
  place("one", "other.md", profile("other"));
  const registry = load(["one"], [{ name: "external", fields: text, origin: "mandate.yaml" }]);
  expect(registry.names()).toEqual(["other"]);
  expect(registry.get("external")).toBeUndefined();
  expect(registry.problems.map(({ message }) => message)).toEqual([
    `one: ${join(base, "one/external.md")}: ${sentence}`,
    `${join(base, "one/named.md")}:2: name: must be another name than "external", which is reserved for agents that other programs run`,
    `mandate.yaml: ${sentence}`,
  ]);
  expect(registry.problemOf("external")?.message).toBe(sentence);
  expect(load([]).problemOf("external")?.message).toBe(sentence);
});

test("a later place is merged over an earlier one, field by field, and says what came from where", () => {
  const keys = "allowedTools: [shell]\nlimits: {tokens: 10, turns: 5}";
  place("one", "a.md", profile("a", "first", keys));
  place("two", "other-name.md", "---\nname: a\nlimits: {turns: 2}\n---\n");
  expect(load(["one"]).get("a")).toMatchObject({ description: "first", tools: ["shell"] });
  const merged = load(["one", "two"]).get("a");
  const first = `one: ${join(base, "one/a.md")}`;
  const second = `two: ${join(base, "two/other-name.md")}`;
  expect(merged).toMatchObject({
    description: "first",
    prompt: "Prompt.",
    tools: ["shell"],
    limits: { tokens: 10, turns: 2 },
    origin: second,
    origins: {
      description: first,
      prompt: first,
      tools: first,
      "limits.tokens": first,
      "limits.turns": second,
    },
  });
});

test("an empty list in a later place is none, and not what the earlier place said", () => {
  place("one", "a.md", profile("a", "first", "allowedTools: [shell]"));
  place("two", "a.md", "---\nname: a\ntools: []\n---\n");
  expect(load(["one", "two"]).get("a")?.tools).toEqual([]);
});

test("a profile that a program brings stands for itself", () => {
  place("one", "a.md", profile("a", "first", "allowedTools: [shell]"));
  const text = { name: "a", description: "third", prompt: "", origin: "inline" };
  const inline: Profile = { ...text, capabilities: ["subtask"] };
  expect(load(["one"], [layerOf(inline)]).get("a")).toEqual({
    ...inline,
    origins: expect.anything(),
  });
  expect(load(["one"], [layerOf(inline)]).get("a")?.tools).toBeUndefined();
});

test("a pool takes the place of a model that an earlier place chose, and the other way round", () => {
  place("one", "a.md", profile("a", "d", "model: {model: x/y, temperature: 1}"));
  place("two", "a.md", "---\nname: a\npool: smart\n---\n");
  place("three", "a.md", "---\nname: a\nmodel: x/z\n---\n");
  expect(load(["one", "two"]).get("a")?.model).toEqual({ pool: "smart", temperature: 1 });
  const last = load(["one", "two", "three"]).get("a");
  expect(last?.model).toEqual({ model: "x/z", temperature: 1 });
  expect(Object.keys(last?.origins ?? {})).not.toContain("model.pool");
});

test("what says too little in all is a problem that names the last place", () => {
  place("one", "a.md", "---\nname: a\ntools: []\n---\n");
  place("one", "b.md", "---\nname: b\ndescription: d\n---\n");
  const registry = load(["one"]);
  expect(registry.names()).toEqual([]);
  expect(registry.problemOf("a")?.message).toMatch(/a\.md: the profile "a" has no description/);
  expect(registry.problemOf("b")?.message).toMatch(/b\.md: the profile "b" has no prompt/);
});

test("JSON and YAML files are profiles too, called what their files are called", () => {
  place("one", "j.json", '{"description": "d", "prompt": "p", "tools": ["shell"]}');
  place("one", "y.yaml", "description: d\nsystem_prompt: p\nallowedTools: []\n");
  place("one", "Bad Name.yml", "description: d\nprompt: p\n");
  const registry = load(["one"]);
  expect(registry.get("j")).toMatchObject({ prompt: "p", tools: ["shell"] });
  expect(registry.get("y")).toMatchObject({ prompt: "p", tools: [] });
  expect(registry.problems[0]?.message).toMatch(/Bad Name\.yml:1: "name" is missing/);
});

test("an edit is seen, one that breaks the file keeps the last good version, a deletion counts", () => {
  place("one", "a.md", profile("a", "first", "allowedTools: []"));
  const registry = load(["one"]);
  expect(registry.get("a")?.description).toBe("first");
  place("one", "a.md", profile("a", "the second", "allowedTools: []"));
  expect(registry.get("a")?.description).toBe("the second");
  const before = registry.get("a");
  place("one", "a.md", profile("a", "the third", "allowdTools: []"));
  expect(registry.get("a")?.description).toBe("the second");
  expect(registry.problems[0]?.message).toMatch(/allowdTools.*last good version of it is still/s);
  place("one", "b.md", profile("b"));
  expect(registry.names()).toEqual(["a", "b"]);
  expect(registry.get("a")).toEqual(before);
  rmSync(join(base, "one/a.md"));
  expect(registry.names()).toEqual(["b"]);
});

test("nothing is read again before its time", async () => {
  place("one", "a.md", profile("a", "first"));
  const clock = new ManualClock();
  const sources = [new FolderSource({ path: join(base, "one"), origin: "one" })];
  const registry = loadProfiles({ sources, recheckMs: 1000, clock });
  const first = registry.get("a");
  place("one", "a.md", profile("a", "the second"));
  await clock.advance(999);
  expect(registry.get("a")).toBe(first);
  await clock.advance(1);
  expect(registry.get("a")?.description).toBe("the second");
});

/** A person's folder, and a project's beside it. */
function withProject() {
  let trusted: ReadonlySet<string> = new Set();
  const project = { root: base, isTrusted: false };
  const sources = [
    new FolderSource({ path: join(base, "own"), origin: "user" }),
    new FolderSource({ path: join(base, "repository"), origin: "workspace", project }),
  ];
  const registry = loadProfiles({ sources, trusted: () => trusted, recheckMs: 0 });
  const trust = (file = ""): void => {
    const waiting = registry.pending().filter(({ origin }) => origin.endsWith(file));
    const hashes = waiting.map(({ untrustedHash = "" }) => untrustedHash);
    trusted = new Set([...trusted, ...hashes]);
  };
  const distrust = (): void => {
    trusted = new Set();
  };
  return { registry, trust, distrust };
}

test("a project's file counts once exactly that content is trusted, and has no effect before", () => {
  place("own", "coder.md", profile("coder", "own", 'tools: "*"'));
  const { distrust, registry, trust } = withProject();
  const own = registry.get("coder");
  place("repository", "coder.md", profile("coder", "theirs", "tools: []"));
  expect(registry.get("coder")).toEqual(own);
  expect(registry.problemOf("coder")).toBeUndefined();
  expect(registry.afterTrust("coder")).toMatchObject({ description: "theirs", tools: [] });
  trust();
  expect(registry.get("coder")).toMatchObject({ description: "theirs", tools: [] });
  expect(registry.pending()).toEqual([]);
  place("repository", "coder.md", profile("coder", "changed", "tools: []"));
  expect(registry.get("coder")).toEqual(own);
  expect(registry.pending()).toHaveLength(1);
  distrust();
  expect(registry.get("coder")).toEqual(own);
});

test("a name that only a project's file has says how to trust it", () => {
  const { registry } = withProject();
  place("repository", "mine.md", profile("mine"));
  expect(registry.get("mine")).toBeUndefined();
  expect(registry.problemOf("mine")?.message).toContain("mandate profiles trust mine");
});

test("what a project broke, doubled or made unreadable keeps no name from being used", () => {
  place("own", "coder.md", profile("coder", "own"));
  const { registry, trust } = withProject();
  const own = registry.get("coder");
  place("repository", "coder.md", profile("coder", "theirs", "allowdTools: []"));
  place("repository", "other.md", "---\nname: coder\n---\n---\nx: 1\n");
  expect(registry.get("coder")).toEqual(own);
  expect(registry.problems).toHaveLength(2);
  place("repository", "coder.md", profile("coder", "theirs"));
  trust();
  expect(registry.get("coder")?.description).toBe("theirs");
  place("repository", "another.md", profile("coder", "planted"));
  expect(registry.get("coder")?.description).toBe("theirs");
  rmSync(join(base, "repository"), { recursive: true });
  symlinkSync("repository", join(base, "repository"));
  expect(withProject().registry.get("coder")).toEqual(own);
});

test("what a profile names for its prompt is trusted with it, as it is", () => {
  const { registry, trust } = withProject();
  place(".", "ROLE.md", "Be kind.");
  place("repository", "a.md", "---\ndescription: d\nsystemPromptFile: ROLE.md\n---\n");
  trust();
  expect(registry.get("a")?.project?.files).toEqual({
    "ROLE.md": expect.stringMatching(/^\w{64}$/),
  });
  place(".", "ROLE.md", "Send it away.");
  expect(registry.get("a")).toBeUndefined();
});

test("what is trusted under one name is not trusted under another", () => {
  place("repository", "docs.md", "---\ndescription: d\n---\nPrompt.");
  const { registry, trust } = withProject();
  trust();
  expect(registry.names()).toEqual(["docs"]);
  const path = join(base, "repository");
  renameSync(join(path, "docs.md"), join(path, "reviewer.md"));
  expect(registry.names()).toEqual([]);
  expect(registry.pending().map(({ name }) => name)).toEqual(["reviewer"]);
});

test("what another program's file waits for keeps no profile of ours from its name", () => {
  place("own", "docs.md", profile("docs", "ours"));
  const foreign = { ...layerOf(profileOf("docs")), untrustedHash: "0".repeat(64) };
  const own = new FolderSource({ path: join(base, "own"), origin: "workspace" });
  for (const sources of [
    [fixedSource([foreign]), own],
    [own, fixedSource([foreign])],
  ]) {
    expect(loadProfiles({ sources }).get("docs")?.description).toBe("ours");
  }
  expect(loadProfiles({ sources: [fixedSource([foreign])] }).problemOf("docs")).toBeDefined();
});

test("a profile that is switched off cannot be used, and a hidden one is not offered", () => {
  place("one", "a.md", profile("a", "d", "disabled: true"));
  place("one", "b.md", profile("b", "d", "hidden: true"));
  place("one", "c.md", profile("c", "d", "capabilities: [primary]"));
  place("one", "d.md", profile("d"));
  const registry = load(["one"]);
  expect(registry.names()).toEqual(["b", "c", "d"]);
  expect(registry.problemOf("a")?.message).toContain("switched off");
  expect(registry.offered().map(({ name }) => name)).toEqual(["d"]);
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

test("a folder that can no longer be listed keeps what it said", () => {
  place("one", "coder.md", profile("coder", "d", 'allowedTools: "*"'));
  place("two", "coder.md", profile("coder", "d", "allowedTools: []"));
  place("two", "broken.md", "---\nname: reviewer\nallowdTools: []\n---\n");
  const registry = load(["one", "two"]);
  const before = registry.get("coder");
  expect(before?.tools).toEqual([]);
  renameSync(join(base, "two"), join(base, "away"));
  for (const takePlace of [
    () => writeFileSync(join(base, "two"), "not a folder"),
    () => symlinkSync("two", join(base, "two")),
  ]) {
    takePlace();
    expect(registry.get("coder")).toEqual(before);
    expect(registry.problemOf("reviewer")?.file).toBe(join(base, "two/broken.md"));
    expect(registry.problems[0]?.message).toMatch(/two: cannot be listed: .*last read of it/);
    rmSync(join(base, "two"));
  }
  renameSync(join(base, "away"), join(base, "two"));
  place("two", "coder.md", profile("coder", "d", "allowedTools: [read]"));
  expect(registry.get("coder")?.tools).toEqual(["read"]);
  expect(registry.problems.map(({ name }) => name)).toEqual(["reviewer"]);
  rmSync(join(base, "two"), { recursive: true });
  expect(registry.get("coder")?.tools).toBe("*");
});

test("a folder that never could be listed takes every name with it that it may narrow", () => {
  place("one", "coder.md", profile("coder", "d", 'allowedTools: "*"'));
  place("three", "mine.md", profile("mine"));
  symlinkSync("two", join(base, "two"));
  const registry = load(["one", "two", "three"], [layerOf(profileOf("whole"))]);
  expect(registry.names()).toEqual(["whole"]);
  expect(registry.problemOf("whole")).toBeUndefined();
  for (const name of ["coder", "mine", "unheard-of"]) {
    expect(registry.problemOf(name)?.message).toBe(
      `${join(base, "two")}: cannot be listed: it is a link, or its links lead in a circle. It may narrow any profile, so none is ` +
        "used that it could: make the folder readable, or remove it.",
    );
  }
  rmSync(join(base, "two"));
  expect(registry.names()).toEqual(["coder", "mine", "whole"]);
  expect(registry.problemOf("unheard-of")).toBeUndefined();
});

test("what stands for itself is no exception where the folder comes later", () => {
  symlinkSync("two", join(base, "two"));
  const own = new FolderSource({ path: join(base, "two"), origin: "workspace" });
  const sources = [fixedSource([layerOf(profileOf("whole"))]), own];
  expect(loadProfiles({ sources }).names()).toEqual([]);
});

test("a folder of more files than anybody has is not read in part", () => {
  place("one", "coder.md", profile("coder", "d", 'allowedTools: "*"'));
  place("two", "coder.md", profile("coder", "d", "allowedTools: []"));
  for (let count = 0; count < 10_000; count += 1) {
    writeFileSync(join(base, `two/a${count}.md`), "");
  }
  const registry = load(["one", "two"]);
  expect(registry.get("coder")).toBeUndefined();
  expect(registry.problemOf("coder")?.message).toMatch(/cannot be listed: more than 10000 files/);
});

test("a file that has the name of a profile folder is none", () => {
  place("one", "coder.md", profile("coder"));
  writeFileSync(join(base, "profiles"), "of somebody's program");
  const registry = load(["one", "profiles"]);
  expect(registry.names()).toEqual(["coder"]);
  expect(registry.problems[0]?.message).toMatch(
    /profiles: cannot be listed: a part of its path is not a folder$/,
  );
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
  const folder = { path: join(base, "one"), origin: "config", followLinks: true };
  expect(loadProfiles({ sources: [new FolderSource(folder)] }).names()).toEqual(["a"]);
});

test("names that every object has are not profiles", () => {
  for (const name of ["__proto__", "constructor", "toString"]) {
    expect(load([]).get(name)).toBeUndefined();
  }
});

test("what is shipped loads, and general is the one that delegates", () => {
  const registry = loadProfiles({ sources: [new FolderSource(shippedProfiles)] });
  expect(registry.problems).toEqual([]);
  expect(registry.names()).toEqual(
    expect.arrayContaining(["analyst", "coder", "general", "researcher", "summarizer"]),
  );
  expect(registry.get("general")?.tools).toBe("*");
  expect(registry.get("analyst")).toMatchObject({ workspace: { allowWrites: false } });
  expect(registry.get("analyst")?.prompt).toMatch(/evidence/);
});
