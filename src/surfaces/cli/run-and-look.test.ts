import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { Desk, type Typed } from "./desk.test-support.ts";

const playbook = `
version: 1
replies:
  - when: { profile: general, turn: 1 }
    calls:
      - { tool: delegate_task, input: { profile: coder, task: "Write note.txt", maxTokens: 900000 } }
      - { tool: delegate_task, input: { profile: researcher, task: "Look around" } }
  - when: { profile: general }
    text: "All done.\\x1b[2J\\x9b31m\\u202e"
  - when: { profile: coder, turn: 1 }
    calls: [{ tool: write_file, input: { path: note.txt, content: "hello" } }]
  - when: { profile: researcher, turn: 1 }
    calls: [{ tool: write_file, input: { path: other.txt, content: "no" } }]
  - text: "My part is done."
`;

let desk: Desk;
let ran: Typed;
let runId: string;

beforeAll(async () => {
  desk = new Desk();
  desk.write("book.yaml", playbook);
  ran = await desk.type(["run", "--playbook", "book.yaml", "Do", "the\u001b]0;x\u0007", "work"]);
  runId = JSON.parse((await desk.type(["ls", "--json"])).out)[0].id;
});

afterAll(() => desk.clear());

async function lookAt(...words: string[]): Promise<string> {
  const { code, out, err } = await desk.type(words);
  expect({ code, err }).toEqual({ code: 0, err: "" });
  return out;
}

async function childOf(profile: string): Promise<string> {
  const tree = JSON.parse(await lookAt("tree", "--json"));
  return tree.delegations[0].children.find((each: { profile: string }) => each.profile === profile)
    .delegationId;
}

test("the result stands alone on standard output, progress on standard error", () => {
  expect(ran.code).toBe(0);
  expect(ran.out).toBe("All done.\n");
  expect(ran.err).toMatch(/^scripted model: not a language model \(answers from book\.yaml\)\n/);
  expect(ran.err).toMatch(/researcher \w+ {2}write_file refused \(tool_not_granted\)/);
  expect(ran.err).toMatch(/run succeeded/);
});

test("nothing that a terminal would obey is written to a terminal or as progress", async () => {
  const terminal = { columns: 80, rows: 24 };
  const environment = { NO_COLOR: "1" };
  const shown = await Promise.all(
    [["result"], ["show"], ["logs"], ["tree"], ["ls"], ["show", "--json"]].map((words) =>
      desk.type(words, { terminal, environment }),
    ),
  );
  for (const text of [ran.err, ...shown.map(({ out }) => out)]) {
    for (const character of ["\u001b", "\u009b", "\u0007", "\u202e"]) {
      expect(text).not.toContain(character);
    }
  }
});

test("ls lists the run with what it came to", async () => {
  expect(await lookAt("ls")).toMatch(/^RUN .*TASK\nr\w+ +succeeded +3 .*Do the work\n$/);
  const [run] = JSON.parse(await lookAt("ls", "--json"));
  expect(run).toMatchObject({ state: "succeeded", delegations: 3, cost: 0 });
  expect(run.tokens).toBeGreaterThan(0);
});

test("tree shows who delegated to whom, and what was refused", async () => {
  const [head, root, coder, researcher, sum] = (await lookAt("tree", runId)).split("\n");
  expect(head).toContain(runId);
  expect(root).toMatch(/^✓ general/);
  expect(coder).toMatch(/^├─ ✓ coder .*Write note\.txt .*done +[\d.]+k?\/200k/);
  expect(researcher).toMatch(/^└─ ✓ researcher .*done, 1 refused/);
  expect(sum).toMatch(/3 agents/);
});

test("show tells of a delegation what it may do, what it did not get, and what was refused", async () => {
  const coder = await lookAt("show", await childOf("coder"));
  expect(coder).toMatch(/tokens {2}asked for 900,000, granted 200,000/);
  expect(coder).toMatch(/created +note\.txt/);
  const researcher = await lookAt("show", await childOf("researcher"));
  expect(researcher).toMatch(/may write +nothing/);
  expect(researcher).toMatch(/⊘ write_file \(tool_not_granted\)/);
  const document = JSON.parse(await lookAt("show", await childOf("coder"), "--json"));
  expect(document.contract.step.description).toBe("Write note.txt");
  expect(document.receipt).toContainEqual(expect.objectContaining({ field: "tokens" }));
  expect(document.result).toMatchObject({ status: "completed", closeReason: "integrated" });
});

test("logs gives one line an event; as JSON, exactly the fields that others rely on", async () => {
  const lines = (await lookAt("logs", runId)).trimEnd().split("\n");
  const events = (await lookAt("logs", runId, "--json"))
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line));
  expect(lines).toHaveLength(events.length);
  expect(lines.at(-1)).toMatch(/run succeeded/);
  const fields = ["seq", "run_seq", "run_id", "type", "at", "summary", "payload", "hash"];
  expect(Object.keys(events[0])).toEqual(fields);
  expect(Object.keys(events[1])).toEqual(fields.toSpliced(3, 0, "sub_agent_id"));
  expect(events.map(({ run_seq }) => run_seq)).toEqual(events.map((_event, index) => index + 1));
});

test("logs of a delegation are its own events only", async () => {
  const id = await childOf("coder");
  const lines = (await lookAt("logs", id, "--json")).trimEnd().split("\n");
  expect(new Set(lines.map((line) => JSON.parse(line).sub_agent_id))).toEqual(new Set([id]));
});

test("result prints the text of a run or a delegation, or the whole document", async () => {
  expect(await lookAt("result", await childOf("coder"))).toBe("My part is done.\n");
  const document = JSON.parse(await lookAt("result", "--json"));
  expect(document).toMatchObject({ runId, status: "completed", profile: "general" });
  expect(document.subDelegations).toHaveLength(2);
});

test("verify finds nothing wrong, and says what it looked at", async () => {
  expect(await lookAt("verify")).toMatch(/^✓ \d+ events, 3 delegations: everything holds\n$/);
  const report = JSON.parse(await lookAt("verify", "--run", runId, "--json"));
  expect(report).toEqual({ ok: true, events: expect.any(Number), delegations: 3, violations: [] });
});

test("cancelling what has ended changes nothing, and resuming it is refused", async () => {
  const before = await lookAt("logs", "--json");
  expect(await lookAt("cancel", runId)).toMatch(/had ended already; nothing was changed/);
  expect(JSON.parse(await lookAt("cancel", runId, "--json"))).toEqual({
    id: runId,
    outcome: "already_terminal",
  });
  expect(await lookAt("logs", "--json")).toBe(before);
  const { code, err } = await desk.type(["resume", runId]);
  expect(code).toBe(1);
  expect(err).toMatch(/completed; there is nothing to resume/);
});

test("with --json a run prints one document, and with --quiet nothing else", async () => {
  const { code, out, err } = await desk.type([
    "run",
    "--json",
    "-q",
    "--playbook",
    "book.yaml",
    "again",
  ]);
  expect(code).toBe(0);
  expect(JSON.parse(out)).toMatchObject({
    runId: expect.stringMatching(/^r/),
    status: "completed",
  });
  expect(err).toBe("scripted model: not a language model (answers from book.yaml)\n");
});

test("read-only is a boundary for everyone below, and leaves the folder as it was", async () => {
  const folder = new Desk();
  const file = desk.write("writer.yaml", playbook);
  const { err } = await desk.type([
    "run",
    "--read-only",
    "--playbook",
    file,
    "-C",
    folder.folder,
    "x",
  ]);
  expect(err).toMatch(/coder \w+ {2}write_file refused \(writes_not_allowed\)/);
  expect(existsSync(join(folder.folder, "note.txt"))).toBe(false);
  expect(existsSync(join(folder.folder, ".mandate"))).toBe(false);
  expect(readFileSync(join(desk.folder, "note.txt"), "utf8")).toBe("hello");
  folder.clear();
});

test("a run that fails says why on standard error and exits 1", async () => {
  const file = desk.write("fails.yaml", "version: 1\nreplies: [{ fault: unauthorized }]\n");
  const { code, out, err } = await desk.type(["run", "--playbook", file, "x"]);
  expect({ code, out }).toEqual({ code: 1, out: "" });
  expect(err).toMatch(/mandate: failed \(API key refused\)/);
  expect(err).toMatch(/Resume: mandate resume r\w+\. Details: mandate show \w+/);
});

test("a run that its contract stops exits 3", async () => {
  const call = '{ tool: write_file, input: { path: "{{turn}}.txt", content: x } }';
  const file = desk.write("denied.yaml", `version: 1\nreplies: [{ calls: [${call}] }]\n`);
  const { code, out, err } = await desk.type(["run", "-p", "researcher", "--playbook", file, "x"]);
  expect({ code, out }).toEqual({ code: 3, out: "" });
  expect(err).toMatch(/failed \(refused by policy\): 5 calls in a row were refused/);
});

test("limits that are not granted as asked are told at the start", async () => {
  const { err } = await desk.type(["run", "--playbook", "book.yaml", "--timeout", "9h", "x"]);
  expect(err).toMatch(/timeout: asked for 9 h, granted 1 h/);
});
