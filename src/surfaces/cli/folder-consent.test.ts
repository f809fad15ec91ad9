import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { testFolder } from "../../testing/test-folder.test-support.ts";
import { Desk } from "./desk.test-support.ts";

const playbook = `
version: 1
replies:
  - when: { depth: 0, turn: 1 }
    calls: [{ tool: write_file, input: { path: note.txt, content: "hello" } }]
  - text: "Done."
`;

let desk: Desk;
let project: string;
let book: string;

beforeEach(() => {
  desk = new Desk();
  book = desk.write("book.yaml", playbook);
  project = join(desk.folder, "project");
  mkdirSync(project);
});

afterEach(async () => {
  expect(await desk.type(["verify"])).toMatchObject({ code: 0 });
  desk.clear();
});

const terminal = { columns: 80, rows: 24 };

/** Starts a run in the project; the person at the terminal, if there is one, gives these answers. */
async function run(
  words: readonly string[] = [],
  { answers, cwd = project, home }: { answers?: string[]; cwd?: string; home?: string } = {},
) {
  const questions: string[] = [];
  const ask = async (question: string): Promise<string> => {
    questions.push(question);
    return answers?.shift() ?? Promise.reject(new Error("The input was closed."));
  };
  const typed = await desk.type(["run", "--playbook", book, ...words, "go"], {
    cwd,
    consents: false,
    ...(answers && { ask, terminal }),
    ...(home !== undefined && { environment: { HOME: home } }),
  });
  return { ...typed, questions };
}

const note = () => join(project, "note.txt");

describe("the first run in a folder", () => {
  test("without a terminal is refused with what to do, and starts nothing", async () => {
    const { code, err, out } = await run();
    expect({ code, out }).toEqual({ code: 3, out: "" });
    expect(err).toContain(`Work in "${project}" needs your consent first.`);
    expect(err).toContain("--trust-folder");
    expect(existsSync(note())).toBe(false);
    expect((await desk.type(["ls", "--json"])).out.trim()).toBe("[]");
  });

  test("asks the person once, and remembers the answer for what is below it", async () => {
    const first = await run([], { answers: ["1"] });
    expect(first).toMatchObject({ code: 0, questions: ["1, 2 or 3 (Enter: no): "] });
    expect(first.err).toContain(`  ${project}\n`.trim());
    expect(readFileSync(note(), "utf8")).toBe("hello");
    mkdirSync(join(project, "below"));
    expect(await run([], { cwd: join(project, "below") })).toMatchObject({ code: 0 });
    expect(await run([], { answers: [] })).toMatchObject({ code: 0, questions: [] });
  });

  test.each([
    ["Enter", ""],
    ["no", "no"],
  ])("%s starts nothing and is asked again", async (_name, answer) => {
    const { code, err } = await run([], { answers: [answer] });
    expect(code).toBe(3);
    expect(err).toContain("Nothing was started");
    expect(await run([], { answers: ["what?", "3"] })).toMatchObject({ code: 0 });
    expect(existsSync(note())).toBe(false);
  });

  test("the end of the input is no consent", async () => {
    expect(await run([], { answers: [] })).toMatchObject({ code: 3 });
    expect(existsSync(note())).toBe(false);
  });

  test("in a copy leaves the folder alone until the person approves the changes", async () => {
    const refused = await run([], { answers: ["2", "no"] });
    expect(refused.code).toBe(3);
    expect(refused.questions).toHaveLength(2);
    expect(existsSync(note())).toBe(false);
    expect(refused.err).toContain("mandate diff");
    const approved = await run([], { answers: ["yes"] });
    expect(approved.code).toBe(0);
    expect(readFileSync(note(), "utf8")).toBe("hello");
  });
});

describe("--trust-folder", () => {
  test("is consent without a terminal, and is remembered", async () => {
    expect(await run(["--trust-folder"])).toMatchObject({ code: 0 });
    expect(existsSync(note())).toBe(true);
    expect(await run()).toMatchObject({ code: 0 });
    const { out } = await desk.type(["folders", "--json"]);
    expect(JSON.parse(out)).toMatchObject([{ folder: project, mode: "in-place" }]);
  });

  test("with read-only has nobody write; later flags narrow it, and only an answer widens it", async () => {
    await run(["--trust-folder=read-only"]);
    expect((await run()).err).toContain("Agents change nothing in this folder, as you answered.");
    expect(existsSync(note())).toBe(false);
    await run(["--trust-folder=in-place"]);
    expect(existsSync(note())).toBe(true);
    rmSync(note());
    await run(["--read-only"]);
    expect(existsSync(note())).toBe(false);
  });

  test("with another word is an error of usage", async () => {
    const { code, err } = await run(["--trust-folder=all"]);
    expect(code).toBe(2);
    expect(err).toContain("--trust-folder takes in-place, copy, read-only");
  });

  test("does not follow a link that leads elsewhere afterwards", async () => {
    const link = join(desk.folder, "link");
    symlinkSync(project, link);
    expect(await run(["--trust-folder"], { cwd: link })).toMatchObject({ code: 0 });
    const other = testFolder();
    rmSync(link);
    symlinkSync(other, link);
    const { code, err } = await run([], { cwd: link });
    expect(code).toBe(3);
    expect(err).toContain(`Work in "${other}" needs your consent`);
  });
});

test("a link that is swapped while the person answers moves the consent nowhere", async () => {
  const inner = join(project, "inner");
  mkdirSync(inner);
  const other = join(desk.folder, "other");
  mkdirSync(join(other, "inner"), { recursive: true });
  const { code, err } = await desk.type(["run", "--playbook", book, "go"], {
    cwd: inner,
    consents: false,
    terminal,
    ask: async () => {
      renameSync(project, `${project}-before`);
      symlinkSync(other, project);
      return "1";
    },
  });
  expect(code).toBe(3);
  // Wrapped at the width of the terminal, wherever the path ends.
  expect(err).toMatch(/leads\s+to\s+another\s+folder\s+now/);
  expect((await desk.type(["folders", "--json"])).out.trim()).toBe("[]");
});

describe("a folder that is too broad", () => {
  const broad = {
    home: () => project,
    "the parent of home": () => desk.folder,
    "a link to home": () => {
      symlinkSync(project, join(desk.home, "link"));
      return join(desk.home, "link");
    },
    "/": () => "/",
    "Mandate's own home": () => desk.home,
  };

  test.each(Object.entries(broad))(
    "%s needs --force, which covers the call alone",
    async (name, where) => {
      const cwd = where();
      for (const words of [[], ["--trust-folder"], ["--trust-folder=read-only"]]) {
        const { code, err } = await run(words, { cwd, home: project, answers: ["1"] });
        expect(code).toBe(3);
        expect(err).toContain("--force");
      }
      // Mandate's own data is no workspace at all, and nobody wants a test to work in /.
      if (name === "/" || name === "Mandate's own home") return;
      const forced = await run(["--force", "--read-only"], { cwd, home: project });
      expect(forced.code).toBe(0);
      expect(await run([], { cwd, home: project })).toMatchObject({ code: 3 });
      mkdirSync(join(project, "below"));
      expect(await run([], { cwd: join(project, "below"), home: project })).toMatchObject({
        code: 3,
      });
      expect((await desk.type(["folders", "--json"])).out.trim()).toBe("[]");
    },
  );
});

describe("every way to start work in a folder", () => {
  const ways: Record<string, readonly string[]> = {
    goal: ["run", "--goal", "a goal"],
    command: ["command", "/oracle why"],
    serve: ["serve", "--port", "0"],
  };

  test.each(Object.entries(ways))("%s needs consent", async (_name, words) => {
    const environment = { MANDATE_PLAYBOOK: book };
    const { code, err } = await desk.type(words, { cwd: project, consents: false, environment });
    expect(err).toContain("needs your consent first");
    expect(code).toBe(3);
  });

  test("a plan needs consent, and looking at its schedule does not", async () => {
    const plan = desk.write(
      "plan.yaml",
      "steps: [{ id: a, title: A, description: Do it, profile: coder }]\n",
    );
    const words = ["run", "--playbook", book, "--plan", plan];
    const typed = { cwd: project, consents: false };
    expect(await desk.type([...words, "--dry-run"], typed)).toMatchObject({ code: 0 });
    expect(await desk.type(words, typed)).toMatchObject({ code: 3 });
  });

  test("resume, continue and fork ask for it again when it was taken back", async () => {
    await run(["--trust-folder", "--max-tokens", "100"]);
    const [{ id }] = JSON.parse((await desk.type(["ls", "--json"])).out);
    await desk.type(["folders", "forget"], { cwd: project });
    for (const words of [
      ["resume", id],
      ["run", "--continue", id, "and on"],
      ["fork", id, "--at", "2"],
    ]) {
      const typed = { cwd: project, consents: false };
      const { code, err } = await desk.type(words, typed);
      expect({ words, code, err }).toMatchObject({
        code: 3,
        err: expect.stringContaining("needs your consent first"),
      });
    }
  });

  test("a command that only looks asks nothing", async () => {
    const { code } = await desk.type(["command", "/status"], { cwd: project, consents: false });
    expect(code).toBe(0);
  });
});

describe("folders", () => {
  test("sets, lists and forgets, and refuses what is too broad", async () => {
    const here = { cwd: project };
    expect(await desk.type(["folders", "set", "copy"], here)).toMatchObject({ code: 0 });
    expect((await desk.type(["folders"])).out).toMatch(/^copy {7}\S+project {2}\(/);
    expect(await desk.type(["folders", "set", "all"], here)).toMatchObject({ code: 2 });
    expect(await desk.type(["folders", "set", "copy", "gone"], here)).toMatchObject({ code: 2 });
    const environment = { HOME: project };
    const home = await desk.type(["folders", "set", "copy", project], { ...here, environment });
    expect(home).toMatchObject({ code: 3 });
    expect(await desk.type(["folders", "forget"], here)).toMatchObject({ code: 0 });
    expect(await desk.type(["folders", "forget"], here)).toMatchObject({ code: 2 });
    expect(await run()).toMatchObject({ code: 3 });
  });
});

describe("init", () => {
  const environment = () => ({ HOME: desk.home, PATH: "" });

  test("is consent to the folder that it sets up, and not where nothing was written", async () => {
    await desk.type(["init"], { cwd: project, environment: environment() });
    expect(await run()).toMatchObject({ code: 3 });
    const { out } = await desk.type(["init", "--yes"], {
      cwd: project,
      environment: environment(),
    });
    expect(out).toContain("Agents may work in this folder: in-place.");
    expect(await run()).toMatchObject({ code: 0 });
  });

  test("for a client is consent to the project, and for a user's own settings to nothing", async () => {
    const init = ["init", "--client", "claude-code", "--yes"];
    await desk.type([...init, "--user"], { cwd: project, environment: environment() });
    expect(await run()).toMatchObject({ code: 3 });
    await desk.type(init, { cwd: project, environment: environment() });
    expect(await run()).toMatchObject({ code: 0 });
  });

  test("keeps a narrower answer that was given before", async () => {
    await desk.type(["folders", "set", "read-only"], { cwd: project });
    await desk.type(["init", "--yes"], { cwd: project, environment: environment() });
    await run();
    expect(existsSync(note())).toBe(false);
  });

  test("needs --force at home", async () => {
    const at = { cwd: project, environment: { HOME: project, PATH: "" } };
    expect(await desk.type(["init", "--yes"], at)).toMatchObject({ code: 3 });
    expect(existsSync(join(project, "mandate.yaml"))).toBe(false);
    expect(await desk.type(["init", "--yes", "--force"], at)).toMatchObject({ code: 0 });
    expect((await desk.type(["folders", "--json"])).out.trim()).toBe("[]");
  });
});
