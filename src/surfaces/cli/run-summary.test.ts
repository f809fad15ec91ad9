import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { Desk } from "./desk.test-support.ts";

let desk: Desk;
beforeEach(() => {
  desk = new Desk();
});
afterEach(() => desk.clear());

const call = (tool: string, input: object) => ({ tool, input });
const write = (path: string, content: string) => call("write_file", { path, content });

/** A plain folder with these files, apart from the playbook. */
function project(files: Readonly<Record<string, string>>): string {
  const folder = join(desk.folder, "project");
  mkdirSync(folder);
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
  return folder;
}

function book(replies: readonly object[]): string {
  return desk.write("book.yaml", JSON.stringify({ version: 1, replies }));
}

const terminal = { columns: 60, rows: 24 };
const plain = { environment: { NO_COLOR: "1" } };

test("a run ends with the files that it changed, its cost and how to continue", async () => {
  const cwd = project({ "kept.txt": "a\nb\nc\n", "same.txt": "x\n" });
  const file = book([
    {
      when: { profile: "general", turn: 1 },
      calls: [
        write("new.txt", "1\n2\n3\n"),
        call("edit_file", { path: "kept.txt", old_text: "b", new_text: "B\nB2" }),
        write("same.txt", "y\n"),
        call("delegate_task", { profile: "coder", task: "Write note.txt" }),
      ],
    },
    {
      when: { profile: "general", turn: 2 },
      calls: [write("same.txt", "x\n"), write("new.txt", "1\n2\n")],
    },
    { when: { profile: "general" }, text: "Done." },
    { when: { profile: "coder", turn: 1 }, calls: [write("note.txt", "hello\n")] },
    { text: "My part." },
  ]);
  const { code, err } = await desk.type(["run", "--playbook", file, "go"], { cwd });
  expect(code).toBe(0);
  const [, summary] = /run succeeded.*?\n(.*)/s.exec(err) ?? [];
  expect(summary?.split("\n")).toEqual([
    "M kept.txt  +2 -1",
    "A new.txt   +2 -0",
    "A note.txt  +1 -0",
    "Changed: 3 files, +5 -1",
    expect.stringMatching(
      /^[\d.]+k tokens, \$0, 0:\d\d\. Continue: mandate run --continue r\w+ "…"$/,
    ),
    "",
  ]);
  const quiet = await desk.type(["run", "-q", "--playbook", file, "go"], { cwd });
  expect(quiet.err).not.toMatch(/Changed|Continue/);
});

test("nothing changed is not told, and changes that are kept are", async () => {
  const cwd = project({ "a.txt": "a\n" });
  const file = book([
    {
      when: { profile: "general", turn: 1 },
      calls: [call("delegate_task", { profile: "coder", task: "Write note.txt" })],
    },
    { when: { profile: "general" }, text: "It failed." },
    { when: { profile: "coder", turn: 1 }, calls: [write("note.txt", "hello\n")] },
    { when: { profile: "coder" }, fault: "unauthorized" },
  ]);
  const { err } = await desk.type(["run", "--playbook", file, "go"], { cwd });
  expect(err).not.toContain("Changed:");
  expect(err).toMatch(
    /\nChanges kept: mandate diff \w+, then merge \w+ or discard \w+\n.*Continue: mandate run --continue/,
  );
  // Without an id, the latest run.
  const { out } = await desk.type(["diff", "--stat"], { cwd });
  expect(out).toBe("A note.txt  +1 -0\n1 file, +1 -0\n");
});

test("an answer is drawn as Markdown at a terminal, and is as written in a pipe and in JSON", async () => {
  const text =
    "# Title\n\n- *one*\n- [two](https://two.example)\n\n| a | b |\n|---|---|\n| 1 | 2 |";
  const file = book([{ text }]);
  const words = ["run", "--playbook", file, "go"];
  const shown = await desk.type(words, { terminal, ...plain });
  expect(shown.out).toBe("# Title\n\n• one\n• two (https://two.example)\n\na │ b\n──┼──\n1 │ 2\n");
  expect((await desk.type(["result"], { terminal, ...plain })).out).toBe(shown.out);
  expect((await desk.type(words)).out).toBe(`${text}\n`);
  expect(JSON.parse((await desk.type([...words, "--json"])).out).result).toBe(text);
  expect((await desk.type(["result", "--raw"], { terminal })).out).toBe(text);
});
