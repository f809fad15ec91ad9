import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { StoredRun } from "../../testing/stored-run.ts";
import {
  closeChild,
  leaveWork,
  openShelf,
  type Shelf,
  startChild,
} from "../../testing/stored-work.test-support.ts";
import { Desk } from "./desk.test-support.ts";

let desk: Desk;
let shelf: Shelf;
let source: string;

beforeEach(() => {
  desk = new Desk();
  shelf = openShelf(desk.home);
  // A plain folder: what git does is tested where git is.
  source = join(desk.folder, "project");
  mkdirSync(source);
  writeFileSync(join(source, "a.txt"), "one\ntwo\n");
});

afterEach(() => desk.clear());

async function leave(
  edit: (write: (name: string, text: string) => void) => void = (write) =>
    write("a.txt", "one\n2\n"),
  workspace = {},
): Promise<string> {
  const left = await leaveWork(
    shelf,
    source,
    ({ root }) => edit((name, text) => writeFileSync(join(root, name), text)),
    workspace,
  );
  return left.id;
}

const contentOf = (name: string): string => readFileSync(join(source, name), "utf8");

test("diff writes a patch to a pipe as it is, and to a terminal in colours without controls", async () => {
  const id = await leave((write) => write("a.txt", "one\n2\u001b[2J\n-- three\n"));
  const piped = await desk.type(["diff", id]);
  expect(piped.code).toBe(0);
  expect(piped.out).toMatch(/^diff --git a\/a\.txt b\/a\.txt\n/);
  expect(piped.out).toContain("\n-two\n+2\u001b[2J\n+-- three\n");
  expect(piped.err).toContain(`None of this is merged yet: mandate merge ${id}`);
  const terminal = { columns: 80, rows: 24 };
  const seen = await desk.type(["diff", id], { terminal });
  expect(seen.out).toContain("\u001b[31m-two\u001b[39m\n\u001b[32m+2\u001b[39m\n");
  expect(seen.out).not.toContain("\u001b[2J");
  const plain = await desk.type(["diff", id], { terminal, environment: { NO_COLOR: "1" } });
  expect(plain.out).not.toContain("\u001b");
});

test("diff --stat counts lines, and --json has all of it", async () => {
  const id = await leave((write) => {
    write("a.txt", "one\n2\n3\n");
    write("long-name.bin", "\0\n");
  });
  const stat = await desk.type(["diff", "--stat", id]);
  expect(stat.out).toBe("M a.txt          +2 -1\nA long-name.bin  binary\n2 files, +2 -1\n");
  const json = JSON.parse((await desk.type(["diff", "--json", id])).out);
  expect(json).toMatchObject({ delegationId: id, status: "failed", source: "copy" });
  expect(json.text).toContain("+2\n");
  const short = JSON.parse((await desk.type(["diff", "--json", "--stat", id])).out);
  expect(short).not.toHaveProperty("text");
  expect(short.files).toEqual(json.files);
});

test("where there is nothing to show, the reason is a sentence and the exit code is 1", async () => {
  const run = await StoredRun.start(shelf.store);
  const inPlace = await startChild(shelf, run);
  const { code, out, err } = await desk.type(["diff", inPlace.id]);
  expect({ code, out }).toEqual({ code: 1, out: "" });
  expect(err).toContain("worked in its caller's folder");
  expect(await desk.type(["diff", "zzz"])).toMatchObject({ code: 2 });
  // Without an id: the latest run, of which the root works in place too.
  expect(await desk.type(["diff"])).toMatchObject({ code: 1, out: "" });
});

test("merge takes the changes over and says which; then there is nothing more to merge", async () => {
  const id = await leave((write) => {
    write("a.txt", "one\n2\n");
    write("b.txt", "b\n");
  });
  const merged = await desk.type(["merge", id]);
  expect(merged).toMatchObject({ code: 0, err: "" });
  expect(merged.out).toBe(`M a.txt\nA b.txt\n✓ Merged ${id} into ${source}: 2 files\n`);
  expect(contentOf("a.txt")).toBe("one\n2\n");
  const again = await desk.type(["merge", id]);
  expect(again).toMatchObject({ code: 1, out: "" });
  expect(again.err).toContain("its changes were merged");
});

test("a conflict exits with 1, what the contract forbids with 3, and both change nothing", async () => {
  const conflicting = await leave();
  const foreign = await leave((write) => write("c.txt", "c\n"), { owns: ["docs/**"] });
  writeFileSync(join(source, "a.txt"), "one\nzwei\n");
  const conflict = await desk.type(["merge", conflicting]);
  expect(conflict).toMatchObject({ code: 1, out: "" });
  expect(conflict.err).toMatch(/"a\.txt" was changed on both sides.*Nothing was changed/s);
  const json = await desk.type(["merge", "--json", conflicting]);
  expect(json.code).toBe(1);
  expect(JSON.parse(json.out)).toMatchObject({ status: "conflict", files: ["a.txt"] });
  const violation = await desk.type(["merge", foreign]);
  expect(violation).toMatchObject({ code: 3 });
  expect(violation.err).toContain('"c.txt" was changed and does not belong');
  expect(existsSync(join(source, "c.txt"))).toBe(false);
  expect(await desk.type(["merge", "--any-path", foreign])).toMatchObject({ code: 0 });
  expect(contentOf("c.txt")).toBe("c\n");
  expect(contentOf("a.txt")).toBe("one\nzwei\n");
});

test("configuration of the place that the run was in is guarded, wherever merge is typed", async () => {
  const run = await StoredRun.start(shelf.store, "suite", source);
  const { id, copy } = await startChild(shelf, run, { source });
  mkdirSync(join(copy.root, ".mandate", "agents"), { recursive: true });
  writeFileSync(join(copy.root, ".mandate", "agents", "helper.md"), "obey me\n");
  await closeChild(run, id);
  await run.finish();
  const refused = await desk.type(["merge", "--any-path", id]);
  expect(refused).toMatchObject({ code: 3, out: "" });
  expect(refused.err).toContain("reads as configuration");
  expect(existsSync(join(source, ".mandate"))).toBe(false);
  expect(await desk.type(["merge", "--with-configuration", id])).toMatchObject({ code: 0 });
  expect(existsSync(join(source, ".mandate", "agents", "helper.md"))).toBe(true);
});

const failing = `
version: 1
replies:
  - when: { profile: coder, turn: 1 }
    calls: [{ tool: write_file, input: { path: b.txt, content: "b" } }]
  - when: { profile: coder }
    text: "written"
    served: "other/model"
  - when: { turn: 1 }
    calls: [{ tool: delegate_task, input: { profile: coder, task: write } }]
  - text: "it failed below"
`;

test("a run tells at its end whose work is kept, in words and as data", async () => {
  desk.write("book.yaml", failing);
  const words = ["run", "--playbook", "book.yaml", "--workspace", source, "go"];
  const told = await desk.type(words);
  const [, id = ""] =
    /\nChanges kept: mandate diff (\w+), then merge \1 or discard \1\n/.exec(told.err) ?? [];
  expect((await desk.type(["diff", id])).out).toContain("+b");
  await desk.type(["discard", "--yes", id]);
  const json = await desk.type([...words, "--json"]);
  const [kept] = JSON.parse(json.out).keptChanges;
  expect((await desk.type(["diff", kept])).out).toContain("+b");
  await desk.type(["discard", "--yes", kept]);
  const goal = ["run", "--playbook", "book.yaml", "--workspace", source, "-p", "general"];
  expect((await desk.type([...goal, "--goal", "go"])).err).toMatch(/Changes kept: mandate diff/);
});

test("discard needs --yes where nobody can be asked", async () => {
  const id = await leave();
  const refused = await desk.type(["discard", id]);
  expect(refused).toMatchObject({ code: 2, out: "" });
  expect(refused.err).toMatch(/changed "a\.txt", and the change was not merged.*discard --yes/s);
  expect(JSON.parse((await desk.type(["discard", "--json", id])).out)).toMatchObject({
    ...{ status: "kept", files: ["a.txt"] },
  });
  const done = await desk.type(["discard", "--yes", id]);
  expect(done).toMatchObject({ code: 0, err: "" });
  expect(done.out).toBe(`Discarded the copy of ${id}, with changes to 1 file.\n`);
  const gone = await desk.type(["diff", id]);
  expect(gone).toMatchObject({ code: 1 });
  expect(gone.err).toContain("any more: it was discarded");
});

test("discard asks at a terminal, and only yes means yes", async () => {
  const id = await leave();
  const terminal = { columns: 80, rows: 24 };
  const asked: string[] = [];
  const say = (answer: string) => ({
    terminal,
    ask: async (prompt: string) => {
      asked.push(prompt);
      return answer;
    },
  });
  for (const answer of ["", "n", "yesterday"]) {
    const { code, err } = await desk.type(["discard", id], say(answer));
    expect(code).toBe(1);
    expect(err).toContain("Nothing was discarded.");
  }
  const closed = { terminal, ask: () => Promise.reject(new Error("closed")) };
  expect(await desk.type(["discard", id], closed)).toMatchObject({ code: 1 });
  expect(asked[0]).toBe(`Delete the changes of ${id} for good? [y/N] `);
  expect(await desk.type(["diff", id])).toMatchObject({ code: 0 });
  expect(await desk.type(["discard", id], say("y"))).toMatchObject({ code: 0 });
  expect(await desk.type(["diff", id])).toMatchObject({ code: 1 });
});

test("show, tree and ls mention work that is kept, and stop when it is not any more", async () => {
  const id = await leave();
  const runId = JSON.parse((await desk.type(["ls", "--json"])).out)[0].id;
  expect((await desk.type(["show", id])).out).toContain(`Changes kept\n  mandate diff ${id}`);
  expect(JSON.parse((await desk.type(["show", "--json", id])).out).changesKept).toBe(true);
  expect((await desk.type(["tree"])).err).toContain(`Changes kept: mandate diff ${id}`);
  expect((await desk.type(["ls"])).err).toContain(`are kept: mandate diff ${runId}`);
  expect(await desk.type(["diff", runId])).toMatchObject({ code: 0 });
  await desk.type(["discard", "--yes", runId]);
  expect((await desk.type(["show", id])).out).not.toContain("Changes kept");
  expect(JSON.parse((await desk.type(["show", "--json", id])).out).changesKept).toBe(false);
  expect((await desk.type(["tree"])).err).toBe("");
  expect((await desk.type(["ls"])).err).toBe("");
});
