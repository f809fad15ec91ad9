import { mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { Desk } from "../desk.test-support.ts";

const playbook = `
version: 1
replies:
  - when: { task: "fails" }
    text: "x"
    served: "other/model"
  - text: "done: {{task}}"
`;

const script = `export const meta = { name: "notes", description: "Two notes", phases: [{ title: "Write" }] }
phase("Write")
const both = await parallel(["one", args.second].map((n) => () => agent(n, { label: n })))
log(both.filter(Boolean).length + " written")
return both
`;

const file = ".claude/workflows/notes.js";

let desk: Desk;

beforeEach(() => {
  desk = new Desk();
  desk.write("book.yaml", playbook);
  mkdirSync(join(desk.folder, ".claude", "workflows"), { recursive: true });
  desk.write(file, script);
  desk.write(".claude/workflows/broken.js", "const x: number = 1\n");
});

afterEach(() => desk.clear());

const workflow = (...words: string[]) => desk.type(["workflow", ...words]);
const run = (...words: string[]) =>
  workflow(
    "run",
    ...words,
    "--trust-folder",
    "--playbook",
    "book.yaml",
    "--args",
    '{"second":"fails"}',
  );

test("a script runs when its content is trusted, and a failed agent runs again when it is resumed", async () => {
  expect((await workflow("list")).out).toMatch(/^notes {2}Two notes {2}\(not trusted\)\n/);
  const refused = await run("notes");
  expect(refused.err).toContain(`${file} is not trusted. Read it, then:`);
  expect(refused.code).not.toBe(0);
  const checked = await workflow("check");
  expect(checked.code).toBe(1);
  expect(checked.out).toContain(".claude/workflows/broken.js:1:8: Unexpected token.");
  expect((await workflow("check", "--trust", file)).out).toBe(`${file}: ok\n`);

  const { code, err, out } = await run("notes", "--json");
  expect(code, err).toBe(0);
  expect(JSON.parse(JSON.parse(out).result)).toEqual(["done: one", null]);
  expect(err).not.toContain("broken");
  const shown = JSON.parse((await workflow("show", "--json")).out);
  expect(shown).toMatchObject({
    name: "notes",
    phases: ["Write"],
    lines: ["1 written"],
    calls: [
      { label: "one", state: "done" },
      { label: "fails", state: "null" },
    ],
  });

  desk.write("book.yaml", playbook.replace("other/model", "scripted/playbook"));
  const resumed = await workflow("resume", shown.runId, "--json");
  expect(JSON.parse(JSON.parse(resumed.out).result)).toEqual(["done: one", "x"]);
  expect(JSON.parse((await workflow("show", "--json")).out)).toMatchObject({
    resumes: shown.delegationId,
    calls: [
      { label: "one", state: "replayed" },
      { label: "fails", state: "done", why: "failed" },
    ],
  });

  // The file is gone: the run has its own copy of the script.
  rmSync(join(desk.folder, file));
  const again = await workflow("resume", shown.runId, "--args", '{"second":"two"}');
  expect(again.out).toContain("done: two");
  expect((await workflow("show")).out).toMatch(/one {2}replayed[\s\S]*two {2}done/);
  const { violations } = JSON.parse((await desk.type(["verify", "--json"])).out);
  expect(violations).toEqual([]);
});

test("what cannot run is refused before anything starts", async () => {
  const broken = await run(".claude/workflows/broken.js", "--trust");
  expect(broken).toMatchObject({ code: 2, err: expect.stringContaining("broken.js:1:8") });
  expect((await run("nothing")).err).toContain('There is no workflow "nothing". Known: notes.');
  expect((await workflow("run")).err).toContain("run needs the name or the file of a workflow");
  expect((await desk.type(["ls", "--json"])).out.trim()).toBe("[]");
});
