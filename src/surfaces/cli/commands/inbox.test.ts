import { stripVTControlCharacters } from "node:util";
import { afterEach, beforeEach, expect, test } from "vitest";
import { until as untilFound } from "../../../testing/until.ts";
import { Desk, type Typing, until } from "../desk.test-support.ts";

const book = `
version: 1
replies:
  - when: { turn: 1, task: paint }
    calls: [{ tool: ask_user, input: { message: "Which\\x1b[31m colour?\\nSay." } }]
  - when: { tool: ask_user }
    text: "It will be {{last}}."
  - text: "Done."
`;

let desk: Desk;

beforeEach(() => {
  desk = new Desk();
  desk.write("book.yaml", book);
});

afterEach(() => desk.clear());

const terminal = { columns: 80, rows: 24 };
const run = (task: string, ...more: string[]): Typing =>
  desk.start(["run", "--playbook", "book.yaml", ...more, task]);
const inbox = (...words: string[]) => desk.type(["inbox", ...words]);
const look = (...words: string[]) => desk.type(["inbox", ...words], { terminal });

async function asked(): Promise<string> {
  return untilFound("a question", async () => {
    const { items } = JSON.parse((await inbox("--open", "--json")).out);
    return items[0]?.ask.id as string | undefined;
  });
}

test("an empty inbox says so, on standard error, and is no failure", async () => {
  expect(await inbox()).toMatchObject({
    code: 0,
    out: "",
    err: expect.stringMatching(/^Nothing new/),
  });
  const json = JSON.parse((await inbox("--json")).out);
  expect(json).toEqual({ seen: 0, unread: 0, items: [] });
});

test("a question is shown with the command that answers it, until it is answered", async () => {
  const typing = run("paint it");
  const askId = await asked();
  const { code, out } = await look("--open");
  expect(code).toBe(0);
  expect(stripVTControlCharacters(out)).toMatch(
    new RegExp(
      `^\\? general asks\\n {2}Which colour\\?\\n {2}Say\\.\\n {2}just now · r\\w+ \\w+\\n {2}mandate answer ${askId} "…" {2}\\(.* min left\\)\\n$`,
    ),
  );
  expect(out).not.toContain("\u001b[31m colour");
  // What waits is shown again and again, also when it was seen.
  for (let round = 0; round < 2; round++)
    expect(stripVTControlCharacters((await look()).out)).toContain("Which colour");
  expect(await desk.type(["answer", askId, "dark", "blue"])).toMatchObject({ code: 0 });
  expect(await typing.done).toMatchObject({ code: 0, out: "It will be dark blue.\n" });
  expect(await look("--open")).toMatchObject({
    out: "",
    err: expect.stringMatching(/^Nothing waits for an answer/),
  });
  const late = await desk.type(["answer", askId, "red"]);
  expect(late).toMatchObject({
    code: 1,
    out: "",
    err: expect.stringMatching(/was answered already/),
  });
});

test("an approval is shown with the two answers that it takes, and each of them works", async () => {
  const step = "{ title: Look, description: look around, profile: researcher }";
  desk.write("plan.yaml", `goal: it\napproval: true\nsteps: [${step}]\n`);
  for (const [word, code] of [
    ["yes", 0],
    ["no", 3],
  ] as const) {
    const typing = desk.start(["run", "--playbook", "book.yaml", "--plan", "plan.yaml"]);
    const askId = await asked();
    const out = stripVTControlCharacters((await look("--open")).out);
    expect(out).toMatch(
      new RegExp(
        ` {2}mandate answer ${askId} yes {2}\\(.* left\\)\\n {2}mandate answer ${askId} no\\n$`,
      ),
    );
    expect(out).not.toContain('"…"');
    const shown = out.split("\n").find((line) => line.includes(`${askId} ${word}`)) ?? "";
    const [, command = ""] = /mandate (.*?)(?: {2}|$)/.exec(shown) ?? [];
    expect(await desk.type(command.split(" "))).toMatchObject({ code: 0 });
    expect(await typing.done).toMatchObject({ code });
  }
});

test("what a terminal has shown counts as seen; pipes, --keep and --json leave that as it is", async () => {
  await run("something").done;
  const first = await inbox();
  expect(first.out).toMatch(/Run succeeded: something\n {2}Done\./);
  expect((await inbox()).out).toBe(first.out);
  await look("--keep");
  await look("--json");
  expect(stripVTControlCharacters((await look()).out)).toContain("Run succeeded");
  expect(await look()).toMatchObject({
    code: 0,
    out: "",
    err: expect.stringMatching(/Nothing new.*inbox --all/),
  });
  expect(stripVTControlCharacters((await look("--all")).out)).toContain("Run succeeded");
  // Somebody else has not seen it.
  expect((await look("--reader", "ann", "--unread")).out).toContain("Run succeeded");
  expect((await look("--reader", "ann", "--unread")).out).toBe("");
});

test("only what was shown without a gap counts as seen", async () => {
  for (const task of ["one", "two", "three"]) await run(task).done;
  const { out, err } = await look("--all", "--limit", "1");
  expect(stripVTControlCharacters(out)).toContain("Run succeeded: three");
  expect(err).toContain("2 items more that you have not seen: mandate inbox --unread");
  expect(JSON.parse((await inbox("--json")).out)).toMatchObject({ seen: 0, unread: 3 });
  await look("--unread", "--limit", "2");
  const { items, unread } = JSON.parse((await inbox("--json")).out);
  expect(unread).toBe(1);
  expect(items[0].title).toBe("Run succeeded: three");
});

test("following shows what is there and what comes, until somebody has seen enough", async () => {
  await run("before").done;
  const following = desk.start(["inbox", "--follow"], { terminal });
  await until(() => following.soFar().out.includes("Run succeeded: before"), "the first item");
  await run("during").done;
  await until(() => following.soFar().out.includes("Run succeeded: during"), "the second item");
  following.signal("SIGINT");
  const { code, out } = await following.done;
  expect(code).toBe(130);
  expect(out.match(/Run succeeded/g)).toHaveLength(2);
  expect((await look()).out).toBe("");
});

test("following as JSON is one document a line", async () => {
  const following = desk.start(["inbox", "--follow", "--json", "--all"]);
  await run("it").done;
  await until(() => following.soFar().out.includes('"kind":"run"'), "the end of the run");
  following.signal("SIGINT");
  const lines = (await following.done).out.trimEnd().split("\n");
  expect(lines.map((line) => JSON.parse(line).kind)).toEqual(["run"]);
});

test.each([
  [["--all", "--open"], /--all and --open exclude each other/],
  [["--limit", "0"], /--limit takes a positive whole number/],
  [["--reader", " "], /reader's name/],
  [["extra"], /1 word/],
])("%j is answered with a sentence and exit code 2", async (words, sentence) => {
  const { code, out, err } = await inbox(...words);
  expect(err).toMatch(sentence);
  expect({ code, out }).toEqual({ code: 2, out: "" });
});
