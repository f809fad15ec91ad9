import { mkdirSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { stripVTControlCharacters } from "node:util";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { commands } from "./commands.ts";
import { Desk } from "./desk.test-support.ts";

let desk: Desk;

beforeEach(() => {
  desk = new Desk();
});

afterEach(() => desk.clear());

const echo = 'version: 1\nreplies: [{ text: "done: {{task}}" }]\n';

test("a terminal gets an error wrapped between words, a file or pipe in one line", async () => {
  const { err } = await desk.type(["frobnicate"], { terminal: { columns: 36, rows: 24 } });
  expect(stripVTControlCharacters(err)).toBe(
    'mandate: There is no command\n"frobnicate". mandate help lists\nwhat there is.\n',
  );
  expect((await desk.type(["frobnicate"])).err.split("\n")).toHaveLength(2);
});

describe("what was typed wrong", () => {
  test.each([
    [["rnu", "x"], /no command "rnu".*Did you mean run\?/],
    [["frobnicate"], /no command "frobnicate"\. mandate help lists what there is\./],
    [["--jsn"], /no option "--jsn"/],
    [["run", "--jsn", "x"], /no option --jsn. Did you mean --json\?\nUsage: mandate run/],
    [["run", "-z", "x"], /no option -z/],
    [["run", "x", "--profile"], /--profile needs a value: --profile NAME/],
    [["run", "--profile", "--json", "x"], /needs a value.*written --profile=VALUE/],
    [["ls", "--json=yes"], /--json takes no value/],
    [["ls", "extra"], /1 word/],
    [
      ["answer", "q123456"],
      /answer needs the ID of a question, and your answer: see mandate inbox\./,
    ],
    [
      ["discard"],
      /discard needs the ID of a delegation, .*: see mandate ls\.\nUsage: mandate discard/,
    ],
    [["resume"], /resume needs the ID of a run or a delegation: see mandate ls\./],
    [
      ["run", "--max-tokens", "many", "x"],
      /--max-tokens takes a positive whole number; it is "many"/,
    ],
    [["run", "--max-tokens", "0", "x"], /--max-tokens takes/],
    [
      ["run", "--max-cost", "cheap", "x"],
      /--max-cost takes US dollars, such as 2\.50; it is "cheap"/,
    ],
    [["run", "--max-cost", "0", "x"], /--max-cost takes/],
    [["run", "--timeout", "soon", "x"], /--timeout takes a time with its unit, such as 90s/],
    [["run", "--timeout", "5", "x"], /such as 90s, 5m or 1h; it is "5"/],
    [
      ["profiles", "show", "nobody"],
      /no profile "nobody". There are: analyst, builder, claude-code, coder/,
    ],
    [["profiles", "show", "codr"], /Did you mean coder\?/],
    [
      ["run", "--model", "foo/bar", "x"],
      /models\.providers in your own configuration \(~\/\.config\/mandate\/config\.yaml\)/,
    ],
    [["run"], /A run needs a task: mandate run/],
    [["run", ""], /A run needs a task/],
    [["run", " \n "], /A run needs a task/],
    [["run", "--workspace", "nowhere", "x"], /workspace .*nowhere does not exist/],
    [
      ["run", "--profile", "reseacher", "x"],
      /no profile "reseacher". Did you mean researcher\? There are: analyst, builder, claude-code, coder/,
    ],
    [["run", "--model", "gpt", "x"], /model must be written "provider\/model"; it is "gpt"/],
    [["run", "--model", "anthropic/claude", "x"], /"anthropic" has no key: set ANTHROPIC_API_KEY/],
    [["run", "--playbook", "missing.yaml", "x"], /missing\.yaml cannot be read/],
    [["tree"], /no runs yet. Start one: mandate run/],
    [["show", "zzz"], /no run or delegation "zzz" here. mandate ls lists/],
    [["logs", "r123456"], /no run or delegation/],
    [["result", "123456"], /no run or delegation/],
    [["cancel", "123456"], /no run or delegation/],
    [["resume", "r123456"], /no run or delegation/],
    [["verify", "--run", "r123456"], /no run or delegation/],
    [["answer", "q123456", "yes"], /no question q123456/],
  ])("%j is answered with a sentence and exit code 2", async (words, sentence) => {
    const { code, out, err } = await desk.type(words);
    expect(err).toMatch(sentence);
    expect(err).not.toMatch(/\n\s+at /);
    expect({ code, out }).toEqual({ code: 2, out: "" });
  });

  test("nothing at all shows what there is, on standard error", async () => {
    const { code, out, err } = await desk.type([]);
    expect({ code, out }).toEqual({ code: 2, out: "" });
    for (const name of Object.keys(commands)) expect(err).toContain(name);
  });

  test("an unknown command cannot write to the terminal what it likes", async () => {
    const { err } = await desk.type(["\u001b[31mred\u009b2J"]);
    expect(err).toContain("red");
    expect(err).not.toContain("\u001b");
    expect(err).not.toContain("\u009b");
  });
});

describe("help", () => {
  test("it groups the commands, says what serve is, and keeps to the terminal's width", async () => {
    const terminal = { columns: 60, rows: 20 };
    const { out } = await desk.type(["help"], { terminal });
    const plain = stripVTControlCharacters(out);
    expect(plain).toMatch(/\nDashboard and servers\n {2}serve +start the dashboard/);
    const { out: about } = await desk.type(["help", "run"], { terminal });
    const lines = [...plain.split("\n"), ...stripVTControlCharacters(about).split("\n")];
    expect(lines.filter((line) => line.length > 60 && !line.startsWith("  mandate run"))).toEqual(
      [],
    );
  });

  test("errors name the program as it is typed here", async () => {
    const program = "npm run -s mandate --";
    expect((await desk.type(["ls", "-z"], { program })).err).toContain(`Usage: ${program} ls`);
    const asked = await desk.type(["answer", "q123456", "yes"], { program });
    expect(asked.err).toContain(`${program} inbox --open`);
  });

  test.each(Object.keys(commands))("%s says what it takes, in two ways", async (name) => {
    const [byFlag, byWord] = [await desk.type([name, "--help"]), await desk.type(["help", name])];
    expect(byFlag).toEqual(byWord);
    expect(byFlag).toMatchObject({ code: 0, err: "" });
    expect(byFlag.out).toContain(`Usage: mandate ${name}`);
  });
});

describe("what is wrong with the machine", () => {
  test("a playbook that does not parse is named with file, line and nearest key", async () => {
    const file = desk.write("book.yaml", "version: 1\nreplys: []\n");
    const { code, err } = await desk.type(["run", "--playbook", file, "x"]);
    expect(code).toBe(2);
    expect(err).toMatch(/book\.yaml:2: unknown key "replys"; did you mean "replies"\?/);
    expect(readdirSync(desk.home)).toEqual([]);
  });

  test("so is a configuration", async () => {
    const environment = { MANDATE_CONFIG: desk.write("mandate.yaml", "limits:\n  runTokn: 5\n") };
    const { code, err } = await desk.type(["run", "x"], { environment });
    expect(code).toBe(2);
    expect(err).toMatch(/mandate\.yaml:2: unknown key "runTokn"; did you mean "runTokens"\?/);
  });

  test("a database from a newer version is left alone", async () => {
    await desk.type(["ls"]);
    const file = join(desk.home, "mandate.db");
    const database = new DatabaseSync(file);
    database.exec("UPDATE meta SET value = 999 WHERE key = 'schema'");
    database.close();
    for (const words of [["ls"], ["run", "x"], ["verify"]]) {
      const { code, err } = await desk.type(words);
      expect(code).toBe(1);
      expect(err).toMatch(/written by a newer Mandate.*Update mandate, or point MANDATE_HOME/);
    }
    const { code, out } = await desk.type(["doctor"]);
    expect(code).toBe(1);
    expect(out).toMatch(/✗ database .*newer Mandate/);
  });

  test("a home that cannot be written to says which, and what to do", async () => {
    const file = desk.write("in-the-way", "");
    const environment = { MANDATE_HOME: join(file, "home") };
    const { code, err } = await desk.type(["run", "x"], { environment });
    expect(code).toBe(1);
    expect(err).toMatch(
      /cannot keep its data in ".*in-the-way\/home": a part of its path is not a folder.*MANDATE_HOME/s,
    );
  });

  test("a model that the operator does not allow is refused with exit code 3", async () => {
    const config = desk.write("mandate.yaml", 'models: { allow: ["anthropic/*"] }\n');
    const environment = { MANDATE_CONFIG: config };
    const file = desk.write("echo.yaml", echo);
    const { code, err } = await desk.type(["run", "--playbook", file, "x"], { environment });
    expect(code).toBe(3);
    expect(err).toMatch(/not allowed here/);
  });

  test("a workspace around Mandate's own data is refused before anything runs", async () => {
    const inside = join(desk.home, "inside");
    mkdirSync(inside);
    const words = ["run", "--model", "scripted/echo", "--workspace", inside, "x"];
    const { code, err } = await desk.type(words);
    expect(code).not.toBe(0);
    expect(err).toMatch(/where Mandate keeps its own data/);
  });
});

describe("doctor", () => {
  test("it never prints a key, and says which variable is missing", async () => {
    const environment = { ANTHROPIC_API_KEY: "sk-ant-very-secret", PATH: "" };
    const plain = await desk.type(["doctor"], { environment });
    const json = await desk.type(["doctor", "--json"], { environment });
    expect(plain.out + json.out).not.toContain("very-secret");
    expect(plain.out).toMatch(/✓ default +anthropic\//);
    expect(plain.out).toMatch(/○ openai +set OPENAI_API_KEY/);
    expect(plain.out).toMatch(/○ git +not found/);
    expect(JSON.parse(json.out)).toMatchObject({ ok: true, database: { isUsable: true, runs: 0 } });
  });
});
