import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterEach, beforeEach, expect, test } from "vitest";
import { Desk, type Typed } from "../desk.test-support.ts";

const playbook = `
version: 1
replies:
  - when: { last: "third" }
    text: "Three."
  - when: { last: "second" }
    text: "Two."
  - when: { last: "first" }
    text: "One.\\x1b[2J\\u202e"
  - text: "Something else."
`;

let desk: Desk;

beforeEach(() => {
  desk = new Desk();
  desk.write("book.yaml", playbook);
});

afterEach(() => desk.clear());

async function say(...words: string[]): Promise<Typed> {
  const typed = await desk.type(["run", "-q", ...words]);
  expect(typed).toMatchObject({ code: 0 });
  return typed;
}

async function sessions(...words: string[]): Promise<Record<string, unknown>[]> {
  const { code, err, out } = await desk.type(["sessions", "list", "--json", ...words]);
  expect({ code, err }).toEqual({ code: 0, err: "" });
  return JSON.parse(out);
}

test("run --continue goes on with the latest session of this folder, or with the one named", async () => {
  await say("--playbook", "book.yaml", "the first thing");
  const [first] = await sessions();
  expect((await say("--continue", "the second thing")).out).toBe("Two.\n");
  const [second] = await sessions();
  expect(second).toMatchObject({ title: "the first thing", runs: 2, lastMessage: "Two." });
  const third = await say("--continue", String(first?.["runId"]), "the third thing");
  expect(third.out).toBe("Three.\n");
  expect(await sessions()).toMatchObject([
    { runs: 2, lastMessage: "Three." },
    { runs: 2, lastMessage: "Two." },
  ]);
});

test("a word that only looks like an id is part of the message", async () => {
  await say("--playbook", "book.yaml", "the first thing");
  await say("--continue", "decade", "second");
  const { out } = await desk.type(["sessions", "show", "--json"]);
  const said = JSON.parse(out).entries.filter(({ kind }: { kind: string }) => kind === "person");
  expect(said.at(-1).text).toBe("decade second");
});

test("run --continue says what is missing, unknown, or was agreed before", async () => {
  const continued = (...words: string[]) => desk.type(["run", "--continue", ...words]);
  expect(await continued("hello")).toMatchObject({
    code: 2,
    err: expect.stringContaining("no session in this folder"),
  });
  await say("--playbook", "book.yaml", "the first thing");
  expect(await continued()).toMatchObject({ code: 2, err: expect.stringContaining("message") });
  expect(await continued("rffffff", "hello")).toMatchObject({
    code: 2,
    err: expect.stringContaining("no session rffffff"),
  });
  // A mistyped id is no message to whatever was the latest.
  expect(await continued("4f2a1b", "hello")).toMatchObject({
    code: 2,
    err: expect.stringContaining("no session 4f2a1b"),
  });
  for (const option of [
    ["-p", "coder"],
    ["--max-tokens", "9"],
    ["--context", "x"],
  ]) {
    expect(await continued(...option, "hello")).toMatchObject({
      code: 2,
      err: expect.stringContaining("was agreed when the session began"),
    });
  }
  expect(await sessions()).toHaveLength(1);
});

test("a session that was made read-only stays so when it is continued or resumed", async () => {
  const inSession = ["--session-id", "terminal"];
  const mayWrite = async (): Promise<boolean> => {
    const { out } = await desk.type(["sessions", "show", "--json"]);
    return JSON.parse(out).context.workspace.allowWrites;
  };
  await say("--playbook", "book.yaml", ...inSession, "the first thing");
  expect(await mayWrite()).toBe(true);
  const said = await desk.type(["command", ...inSession, "/workspace readonly"]);
  expect(said.out).toContain("read-only for the next runs");
  await say("--continue", "the second thing");
  expect(await mayWrite()).toBe(false);
  await desk.type(["command", ...inSession, "/workspace writable"]);
  await say("--continue", "the third thing");
  expect(await mayWrite()).toBe(true);
});

test("a child's session begins with its task, and not with a person", async () => {
  const calls = 'calls: [{ tool: delegate_task, input: { profile: coder, task: "a part" } }]';
  const when = "when: { profile: general, turn: 1 }";
  desk.write("book.yaml", `version: 1\nreplies:\n  - ${when}\n    ${calls}\n  - text: done\n`);
  await say("--playbook", "book.yaml", "all");
  const [root] = await sessions();
  const { context } = JSON.parse((await desk.type(["sessions", "show", "--json"])).out);
  const [child] = context.childIds;
  expect((await desk.type(["sessions", "show", child])).out).toContain("\nTask\n  a part\n");
  expect((await desk.type(["sessions", "export", child])).out).toContain("\n## Task, ");
  const whole = await desk.type(["sessions", "show", String(root?.["id"])]);
  expect(whole.out).toContain("\nPerson\n  all\n");
});

test("sessions lists those of this folder, and with --all those of every folder", async () => {
  const elsewhere = join(desk.folder, "elsewhere");
  mkdirSync(elsewhere);
  await say("--playbook", "book.yaml", "the first thing");
  await say("--playbook", "book.yaml", "-C", elsewhere, "another thing");
  expect(await sessions()).toMatchObject([{ title: "the first thing", profile: "general" }]);
  const all = await sessions("--all");
  expect(all.map(({ title }) => title)).toEqual(["another thing", "the first thing"]);
  const page = await sessions("--all", "--limit", "1", "--before", String(all[0]?.["id"]));
  expect(page.map(({ title }) => title)).toEqual(["the first thing"]);
  const { out } = await desk.type(["sessions", "--all"]);
  expect(out).toMatch(/^SESSION +STATUS +AGENT .*TITLE\n\w+ +completed +general /);
  expect((await desk.type(["sessions"], { cwd: desk.home })).err).toContain("no sessions");
});

test("sessions rename gives a title, which is in the control log", async () => {
  await say("--playbook", "book.yaml", "the first thing");
  const id = String((await sessions())[0]?.["id"]);
  const renamed = await desk.type(["sessions", "rename", id, "The", "login page"]);
  expect(renamed.out).toBe(`${id} is called "The login page" now.\n`);
  await say("--continue", "the second thing");
  expect(await sessions()).toMatchObject([{ title: "The login page", runs: 2 }]);
  for (const words of [[id], ["ffffff", "x"], [id, "a\u001b[2J"]]) {
    expect(await desk.type(["sessions", "rename", ...words])).toMatchObject({ code: 2 });
  }
  expect((await desk.type(["sessions", "rename", id, ""])).code).toBe(0);
  expect(await sessions()).toMatchObject([{ title: "the first thing" }]);
});

test("sessions show and export write nothing that a terminal would obey", async () => {
  await say("--playbook", "book.yaml", "the first thing\u001b]0;x\u0007");
  await say("--continue", "the second thing");
  const terminal = { columns: 80, rows: 24 };
  const environment = { NO_COLOR: "1" };
  for (const words of [
    ["show"],
    ["show", "--json"],
    ["export"],
    ["export", "--format", "jsonl"],
    ["list"],
  ]) {
    const { code, out } = await desk.type(["sessions", ...words], { terminal, environment });
    expect(code).toBe(0);
    expect(out).toContain("Two.");
    for (const character of ["\u001b", "\u009b", "\u0007", "\u202e"]) {
      expect(out).not.toContain(character);
    }
  }
  const shown = await desk.type(["sessions", "show"]);
  expect(shown.out).toMatch(
    /Person\n {2}the first thing.*general\n {2}One\..*Person\n {2}the second/s,
  );
  expect(shown.err).toMatch(/Continue it: mandate run --continue \w+ "…"/);
});

test("a damaged session is shown as far as it goes, with exit code 1", async () => {
  await say("--playbook", "book.yaml", "the first thing");
  const database = new DatabaseSync(join(desk.home, "mandate.db"));
  database.exec("UPDATE event_batches SET events = '!' WHERE events LIKE '%One.%'");
  database.close();
  const shown = await desk.type(["sessions", "show"]);
  expect(shown.code).toBe(1);
  expect(shown.out).toContain("the first thing");
  expect(shown.out).toContain("Something is missing here");
  const { code, out } = await desk.type(["sessions", "export"]);
  expect(code).toBe(0);
  expect(out).toContain("**[Something is missing here");
  const [row] = await sessions();
  expect(row).toMatchObject({ status: "unreadable" });
  expect(await desk.type(["run", "--continue", "more"])).toMatchObject({ code: 1 });
});

test("what sessions does not know is refused with what it knows", async () => {
  const { code, err } = await desk.type(["sessions", "frobnicate"]);
  expect(code).toBe(2);
  expect(err).toContain("list, show, rename, export");
  expect((await desk.type(["sessions", "export", "--format", "pdf"])).err).toContain("jsonl");
  expect((await desk.type(["sessions", "show", "ffffff"])).err).toContain("no session");
});
