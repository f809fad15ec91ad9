import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { findHidden } from "../../ports/visible-text.ts";
import { Desk, until } from "./desk.test-support.ts";

const clerk = `---
name: clerk
description: Writes when a person allows it.
tools: [write_file, shell]
toolRules: [{ tool: write_file, action: ask }]
---
Write.
`;

/** 30,000 characters, with what matters in the middle. */
const words = Array.from({ length: 3000 }, (_, at) => `word ${at}`);
const content = words.toSpliced(1500, 0, "PAYLOAD \u202e\u200b").join(" ");

const hostile =
  "plain \u001b[31mred\u001b]52;c;cm0=\u0007 \u202eback\u2066 zero\u200bwidth\u200d \u{e0041}tag";

let desk: Desk;

beforeEach(() => {
  desk = new Desk();
  mkdirSync(join(desk.home, "mandate/agents"), { recursive: true });
  writeFileSync(join(desk.home, "mandate/agents/clerk.md"), clerk);
});

afterEach(async () => {
  const { out } = await desk.type(["verify", "--json"]);
  expect(JSON.parse(out)).toMatchObject({ ok: true });
  desk.clear();
});

function playbook(...replies: object[]): readonly string[] {
  const file = desk.write("book.json", JSON.stringify({ version: 1, replies }));
  return ["run", "--playbook", file, "-p", "clerk", "go"];
}

const writes = (input: object) =>
  playbook({ when: { turn: 1 }, calls: [{ tool: "write_file", input }] }, { text: "done" });

test("an approval at a terminal is shown page by page, and answered after the last page", async () => {
  const prompts: string[] = [];
  const screens: string[] = [];
  let shown = 0;
  const typing = desk.start(writes({ path: "a.txt", content }), {
    terminal: { columns: 80, rows: 24 },
    ask: async (prompt) => {
      const { err } = typing.soFar();
      screens.push(err.slice(shown));
      shown = err.length;
      prompts.push(prompt.trim());
      return prompt.includes("yes or no") ? "yes" : "";
    },
  });
  expect((await typing.done).code).toBe(0);
  expect(prompts.length).toBeGreaterThan(15);
  expect(prompts.filter((prompt) => prompt.startsWith("Enter shows more"))).toHaveLength(
    prompts.length - 1,
  );
  for (const screen of screens.slice(1)) expect(screen.split("\n").length).toBeLessThan(24);
  const text = screens.join("").replaceAll(/\s*\n\s*\S\s/g, "");
  for (const word of ["word 0 ", "PAYLOAD", "word 2999"]) expect(text).toContain(word);
  expect(text).toContain("\\u202e");
  expect(existsSync(join(desk.folder, "a.txt"))).toBe(true);
});

test("the inbox shows all of what waits for an approval", async () => {
  const typing = desk.start(writes({ path: "a.txt", content }));
  await until(() => typing.soFar().err.includes("Answer it from another terminal"));
  expect(typing.soFar().err).toContain("PAYLOAD");
  expect((await desk.type(["inbox", "--open"])).out).toContain("PAYLOAD \\u202e\\u200b word 1500");
  const { items } = JSON.parse((await desk.type(["inbox", "--open", "--json"])).out);
  expect(items[0].ask.question).toContain("PAYLOAD");
  await desk.type(["answer", items[0].ask.id, "no"]);
  await typing.done;
  expect(existsSync(join(desk.folder, "a.txt"))).toBe(false);
});

test("escape sequences and hidden characters of a result reach neither a pipe nor a terminal", async () => {
  const run = await desk.type(playbook({ text: hostile }));
  const visible = "plain red back zerowidth tag\n";
  expect(run.out).toBe(visible);
  expect((await desk.type(["result"])).out).toBe(visible);
  const terminal = { columns: 80, rows: 24 };
  expect((await desk.type(["result"], { terminal })).out).toBe(visible);
  for (const words of [["show"], ["tree"], ["logs"], ["ls"], ["inbox", "--all"], ["sessions"]]) {
    expect(findHidden((await desk.type(words)).out)).toBeUndefined();
    expect(findHidden((await desk.type([...words, "--json"])).out)).toBeUndefined();
  }
});

test("a raw result is every byte of it", async () => {
  await desk.type(playbook({ text: hostile }));
  expect((await desk.type(["result", "--raw"])).out).toBe(hostile);
});

test.each([
  ["an escape sequence", "a\u001b[31m.txt"],
  ["a line end", "a\nb.txt"],
  ["a tab in a folder", "a\tb/c.txt"],
  ["a bidirectional control", "a\u202etxt.exe"],
  ["a zero-width character", "a\u200b.txt"],
])("a file name with %s is refused", async (_what, path) => {
  writeFileSync(join(desk.home, "mandate/agents/clerk.md"), clerk.replace(/toolRules.*\n/, ""));
  await desk.type(writes({ path, content: "x" }));
  expect((await desk.type(["logs"])).out).toContain("hidden character in its name");
  expect(existsSync(join(desk.folder, path))).toBe(false);
});

test("a file name in any script, or with a picture, is written", async () => {
  writeFileSync(join(desk.home, "mandate/agents/clerk.md"), clerk.replace(/toolRules.*\n/, ""));
  await desk.type(writes({ path: "Übersicht/漢字 👩‍💻.txt", content: "x" }));
  expect(existsSync(join(desk.folder, "Übersicht/漢字 👩‍💻.txt"))).toBe(true);
});
