import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, lstatSync, mkdirSync, readdirSync, readFileSync, watch } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { childEnvironment } from "../../testing/child-environment.test-support.ts";
import { machine, whySkipped } from "../../tools/shell/shell-fixture.test-support.ts";
import { Desk } from "./desk.test-support.ts";

const program = join(import.meta.dirname, "../../mandate.ts");

let desk: Desk;
let work: string;
let marker: string;

beforeEach(() => {
  desk = new Desk();
  work = join(desk.folder, "work");
  marker = join(desk.folder, "RUN-ON-THE-HOST");
  mkdirSync(work);
});

afterEach(() => desk.clear());

interface Call {
  readonly tool: string;
  readonly input: object;
}

const shell = (command: string): Call => ({ tool: "shell", input: { command } });
const writeFile = (path: string, content: string): Call => ({
  ...{ tool: "write_file", input: { path, content } },
});

/** A model that makes these calls, one in each turn, and then says what came of them. */
function playbookOf(...calls: readonly Call[]): string {
  const replies = calls.map((call, index) => ({ when: { turn: index + 1 }, calls: [call] }));
  const text = JSON.stringify({ version: 1, replies: [...replies, { text: "done {{results}}" }] });
  return desk.write(`playbook-${calls.length}.json`, text);
}

const settings = () =>
  `[core]\n\trepositoryformatversion = 0\n\tbare = false\n\tworktree = .\n\tfsmonitor = "touch ${marker}; false"\n`;

const plant = (folder: string) =>
  `mkdir -p ${folder}/objects ${folder}/refs; echo 'ref: refs/heads/main' > ${folder}/HEAD; ` +
  `printf '${settings().replaceAll("\n", "\\n").replaceAll("\t", "\\t")}' > ${folder}/config`;

/** What a person's prompt runs. */
function lookAsPerson(folder: string): void {
  for (const command of ["status", "diff"]) {
    try {
      execFileSync("git", ["-C", folder, command], { stdio: "ignore" });
    } catch {
      // No repository, as it should be.
    }
  }
}

const environment = { PATH: process.env["PATH"] };
const run = (playbook: string) =>
  desk.type(["run", "--playbook", playbook, "go"], { cwd: work, environment });

describe.skipIf(!machine.isUsable)(`a hostile model in a person's own folder${whySkipped}`, () => {
  test("plants no repository, by commands, by files or by both", async () => {
    const calls = [
      ...[shell(plant(".")), shell(plant("a/b"))],
      ...[
        writeFile("x/config", settings()),
        writeFile("x/objects/y", ""),
        writeFile("x/refs/y", ""),
      ],
      writeFile("x/HEAD", "ref: refs/heads/main\n"),
      shell("echo 'ref: refs/heads/main' > x/HEAD"),
    ];
    expect(await run(playbookOf(...calls))).toMatchObject({ code: 0 });
    for (const folder of [".", "a/b", "x"]) {
      lookAsPerson(join(work, folder));
      expect(existsSync(join(work, folder, "HEAD")), folder).toBe(false);
    }
    expect(existsSync(marker)).toBe(false);
    expect(await desk.type(["verify"])).toMatchObject({ code: 0 });
  });

  test("does harmless work of the same kind", async () => {
    const calls = [
      shell(
        "git init -q --bare /tmp/r && git --git-dir=/tmp/r rev-parse --is-bare-repository > answer",
      ),
      shell("mkdir -p objects .github/workflows; echo on: push > .github/workflows/ci.yml"),
      writeFile("docs/refs/HEAD.md", "text"),
    ];
    const { out } = await run(playbookOf(...calls));
    expect(out).not.toContain("set-aside");
    expect(readFileSync(join(work, "answer"), "utf8")).toBe("true\n");
    expect(readFileSync(join(work, ".github/workflows/ci.yml"), "utf8")).toBe("on: push\n");
    expect(readFileSync(join(work, "docs/refs/HEAD.md"), "utf8")).toBe("text");
    expect(readdirSync(work).sort()).toEqual([".github", "answer", "docs", "objects"]);
  });

  test("leaves nothing behind although Mandate is killed while the command runs", async () => {
    mkdirSync(join(work, "mine"));
    const command = `${plant("x")}; echo '{}' > mine/.mcp.json; touch ready; sleep 600`;
    const playbook = playbookOf(shell(command));
    const words = ["run", "--trust-folder", "--playbook", playbook, "go"];
    const child = spawn(process.execPath, ["--no-warnings", program, ...words], {
      cwd: work,
      env: { ...childEnvironment, HOME: desk.home, MANDATE_HOME: desk.home },
      stdio: "ignore",
    });
    const ended = once(child, "exit");
    await appears(join(work, "ready"));
    child.kill("SIGKILL");
    await ended;
    expect(existsSync(join(work, "x/HEAD"))).toBe(true);
    mkdirSync(join(desk.folder, "other"));
    const elsewhere = { cwd: join(desk.folder, "other") };
    await desk.type(["run", "--playbook", playbookOf(), "go"], elsewhere);
    lookAsPerson(join(work, "x"));
    expect(existsSync(marker)).toBe(false);
    expect(readdirSync(work).sort()).toEqual(["mine", "ready", "x"]);
    expect(lstatSync(join(work, "mine/.mcp.json"), { throwIfNoEntry: false })).toBeUndefined();
    expect(existsSync(join(work, "x/HEAD"))).toBe(false);
    expect(readdirSync(join(desk.home, "guards"))).toEqual([]);
    expect(await desk.type(["verify"])).toMatchObject({ code: 0 });
  });
});

/** Resolves once the file is there. */
async function appears(file: string): Promise<void> {
  const watcher = watch(join(file, ".."));
  try {
    while (!existsSync(file)) await once(watcher, "change");
  } finally {
    watcher.close();
  }
}
