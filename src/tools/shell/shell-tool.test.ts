import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { beforeEach, describe, expect, it } from "vitest";
import { ManualClock } from "../../testing/manual-clock.ts";
import { testFolder } from "../../testing/test-folder.test-support.ts";
import { until } from "../../testing/until.ts";
import { machine, type Setting, untilGone, whySkipped } from "./shell-fixture.test-support.ts";
import { testShell } from "./test-shell.test-support.ts";

let root: string;

beforeEach(() => {
  root = testFolder();
});

const open = (setting: Partial<Setting> = {}) => testShell({ root, ...setting });

/** Its command says so by a file `ready`. */
const isReady = () => until("the command is ready", () => existsSync(join(root, "ready")));

describe.skipIf(!machine.isUsable)(`a command${whySkipped}`, () => {
  it("gives its exit code and both outputs in the order they were written", async () => {
    expect(await open().run("echo one; echo two >&2; echo three; exit 3")).toBe(
      "Exit code 3.\none\ntwo\nthree\n",
    );
  });

  it("tells in words that it said nothing, was not found, or was ended by a signal", async () => {
    const shell = open();
    expect(await shell.run("true")).toBe("Exit code 0. No output.");
    expect(await shell.run("no-such-program")).toMatch(/^Exit code 127 \(a program was not found/);
    expect(await shell.run("kill -SEGV $$")).toMatch(/^Exit code 139 \(ended by SIGSEGV\)/);
  });

  it("gives the exit code as a number too, unless it was ended", async () => {
    const shell = open();
    expect(await shell.call({ command: "exit 3" })).toMatchObject({ exitCode: 3 });
    expect(await shell.call({ argv: ["true"] })).toMatchObject({ exitCode: 0 });
    const polite = "trap 'exit 0' TERM; touch ready; while :; do sleep 0.05; done";
    const clock = new ManualClock();
    const running = open({ options: { clock } }).call({ command: polite, timeout_ms: 300 });
    await isReady();
    await clock.advance(300);
    const ended = await running;
    expect(ended).toMatchObject({ isError: true });
    expect(ended).not.toHaveProperty("exitCode");
  });

  it("runs a program without a shell when it is given as words", async () => {
    const { text } = await open().call({ argv: ["printf", "%s|", "$HOME", "a b", "; id", "*"] });
    expect(text).toBe("Exit code 0.\n$HOME|a b|; id|*|");
  });

  it("begins in the workspace, or in a folder of it", async () => {
    mkdirSync(join(root, "src"));
    const shell = open();
    expect(await shell.run("pwd")).toContain(`\n${root}\n`);
    expect((await shell.call({ command: "pwd", cwd: "src" })).text).toContain(`\n${root}/src\n`);
    await expect(shell.call({ command: "pwd", cwd: "none" })).rejects.toThrow("not a folder");
  });

  it("is refused a folder outside, also through a link", async () => {
    symlinkSync("/etc", join(root, "etc"));
    for (const cwd of ["..", "/etc", "etc", "src/../../.."]) {
      await expect(open().call({ command: "pwd", cwd })).rejects.toMatchObject({
        rule: "path_outside_workspace",
      });
    }
  });

  it("changes files of the workspace, and keeps /tmp and the home until the end", async () => {
    const shell = open();
    await shell.run("echo kept > /tmp/a; echo too > ~/b; mkdir -p new && echo text > new/file");
    expect(readFileSync(join(root, "new/file"), "utf8")).toBe("text\n");
    expect(await shell.run("cat /tmp/a ~/b")).toBe("Exit code 0.\nkept\ntoo\n");
  });

  it("begins with nothing that an earlier one set", async () => {
    const shell = open();
    await shell.run("export PAGER=evil; cd /tmp; alias ls=evil");
    expect(await shell.run('echo "[$PAGER]"; pwd')).toBe(`Exit code 0.\n[]\n${root}\n`);
  });

  it("is ended when it takes too long, and what it said is kept", async () => {
    const clock = new ManualClock();
    const running = open({ options: { clock } }).call({
      command: "echo begun; touch ready; sleep 60",
      timeout_ms: 800,
    });
    await isReady();
    await clock.advance(800);
    const { text, isError } = await running;
    expect(isError).toBe(true);
    expect(text).toBe("It took longer than 800 ms and was ended.\nbegun\n");
  });

  it("is ended when the call is", async () => {
    const abort = new AbortController();
    const shell = open({ context: { signal: abort.signal } });
    const running = shell.call({ command: "touch ready; sleep 60" });
    await isReady();
    abort.abort();
    expect((await running).text).toContain("It was stopped.");
  });

  it("shows the end of a long output first, and says what was left out", async () => {
    const { text } = await open().call({ command: "seq 1 400000; echo LAST" });
    expect(text).toMatch(/^Exit code 0\. 2688900 bytes of output, the end of it first:\n/);
    expect(text.slice(0, 17_000)).toContain("\n400000\nLAST\n");
    expect(text).toContain("[From the beginning:]\n1\n2\n3\n");
    expect(text).toContain("[… 1640324 bytes left out …]");
    expect(text.length).toBeLessThan(1_200_000);
  });

  it("hands over no characters that drive a terminal", async () => {
    expect(await open().run("printf 'a\\033[31mred\\033[0m\\007\\r\\nb'")).toBe(
      "Exit code 0.\nared\nb",
    );
  });
});

describe.skipIf(!machine.isUsable)(`a command in the background${whySkipped}`, () => {
  it("gives a handle at once; what it says is read piece by piece", async () => {
    const shell = open();
    const line = "echo first; while [ ! -e go ]; do sleep 0.02; done; echo second";
    const { text } = await shell.call({ command: line, background: true });
    expect(text).toMatch(/^It runs in the background as bg-1\./);
    const read = async () => (await shell.call({ handle: "bg-1", action: "read" })).text;
    if (!text.includes("first")) await expect.poll(read).toBe("It still runs.\nfirst\n");
    expect(await read()).toBe("It still runs. No output.");
    writeFileSync(join(root, "go"), "");
    expect((await shell.call({ handle: "bg-1", action: "wait" })).text).toBe(
      "Exit code 0.\nsecond\n",
    );
  });

  it("gives its exit code when it is asked about after its end, and none before", async () => {
    const shell = open();
    const line = "while [ ! -e go ]; do sleep 0.02; done; exit 5";
    expect(await shell.call({ command: line, background: true })).not.toHaveProperty("exitCode");
    writeFileSync(join(root, "go"), "");
    expect(await shell.call({ handle: "bg-1", action: "wait" })).toMatchObject({ exitCode: 5 });
    expect(await shell.call({ handle: "bg-1", action: "read" })).toMatchObject({ exitCode: 5 });
  });

  it("can be stopped, and can be asked about afterwards", async () => {
    const shell = open();
    await shell.call({ argv: ["sleep", "60"], background: true });
    expect(await shell.call({ handle: "bg-1", action: "stop" })).toEqual({
      text: "It was stopped. No output.",
    });
    expect((await shell.call({ handle: "bg-1", action: "read" })).text).toContain("stopped");
  });

  it("is one of at most eight, and a handle is known to its own delegation alone", async () => {
    const shell = open();
    for (let count = 0; count < 8; count++) {
      await shell.call({ argv: ["sleep", "60"], background: true });
    }
    const ninth = await shell.call({ argv: ["sleep", "60"], background: true });
    expect(ninth).toMatchObject({ isError: true, text: expect.stringContaining("8 commands") });
    const other = { ...shell.context, delegationId: "another" };
    expect(await shell.tool.execute({ handle: "bg-1", action: "read" }, other)).toMatchObject({
      isError: true,
      text: 'There is no command "bg-1" in the background. There are: none.',
    });
  });

  it("is about what it was started for, so that rules judge it the same", async () => {
    const shell = open();
    await shell.call({ command: "sleep 60 && git status", background: true });
    const about = shell.tool.about?.({ handle: "bg-1", action: "read" }, shell.context);
    expect(about).toEqual({ kind: "text", values: ["sleep 60", "git status"] });
  });
});

describe("without a sandbox", () => {
  const sandbox = {
    isUsable: false,
    problem: "There is none.",
    programs: machine.programs,
  } as const;

  it("a command is refused, with the reason", async () => {
    const shell = open({ options: { sandbox } });
    await expect(shell.call({ command: "true" })).rejects.toMatchObject({
      rule: "no_sandbox",
      message: expect.stringContaining("There is none."),
    });
  });

  it("it runs when the operator said so, and never where the workspace is read-only", async () => {
    const waived = open({ options: { sandbox, unsandboxed: true } });
    expect(await waived.run("echo ran; exit 2")).toBe("Exit code 2.\nran\n");
    const request = { allowWrites: false };
    const readOnly = open({ options: { sandbox, unsandboxed: true }, request });
    await expect(readOnly.call({ command: "true" })).rejects.toMatchObject({ rule: "no_sandbox" });
  });

  it("refuses it also to a caller who does not ask before", async () => {
    const request = { allowWrites: false };
    const cases = [
      open({ options: { sandbox, unsandboxed: true }, request }),
      open({ options: { sandbox } }),
    ];
    for (const { tool, context } of cases) {
      const input = tool.input.parse({ command: "touch planted" });
      const running = async () => tool.execute(input, context);
      await expect(running()).rejects.toMatchObject({ rule: "no_sandbox" });
    }
    expect(readdirSync(root)).toEqual([]);
  });

  it("the environment is as bare as in one", async () => {
    const environment = { ...process.env, ANTHROPIC_API_KEY: "sk-canary", GIT_DIR: "/elsewhere" };
    const shell = open({ options: { sandbox, unsandboxed: true, environment } });
    const text = await shell.run("env");
    expect(text).not.toMatch(/canary|GIT_DIR|VITEST/);
    expect(text).toContain("PATH=");
  });

  it("ends a process that left its group as well", async () => {
    const shell = open({ options: { sandbox, unsandboxed: true } });
    const outside = `setsid sh -c ': ${root}; touch ready; while :; do sleep 0.05; done'`;
    const text = await shell.run(`${outside} & while [ ! -e ready ]; do sleep 0.02; done`);
    expect(text).toBe("Exit code 0. No output.");
    await untilGone(root);
  });
});

describe("the input of a command", () => {
  const parse = (input: object) => open().tool.input.safeParse(input).success;

  it("is one thing at a time", () => {
    expect(parse({ command: "ls" })).toBe(true);
    expect(parse({ argv: ["ls"], cwd: "src", timeout_ms: 5 })).toBe(true);
    expect(parse({ handle: "bg-1", action: "wait", timeout_ms: 5 })).toBe(true);
    expect(parse({})).toBe(false);
    expect(parse({ command: "ls", argv: ["ls"] })).toBe(false);
    expect(parse({ command: "ls", handle: "bg-1", action: "read" })).toBe(false);
    expect(parse({ handle: "bg-1" })).toBe(false);
    expect(parse({ command: "ls", action: "read" })).toBe(false);
    expect(parse({ handle: "bg-1", action: "read", cwd: "src" })).toBe(false);
  });

  it("holds nothing that a system call would cut or take for something else", () => {
    expect(parse({ command: "ls\0-la" })).toBe(false);
    expect(parse({ command: "echo \ud800" })).toBe(false);
    expect(parse({ argv: ["-c", "evil"] })).toBe(false);
    expect(parse({ argv: [""] })).toBe(false);
    expect(parse({ argv: Array(1000).fill("x".repeat(1000)) })).toBe(false);
    expect(parse({ command: "ls", shell: "/bin/zsh" })).toBe(false);
  });
});
