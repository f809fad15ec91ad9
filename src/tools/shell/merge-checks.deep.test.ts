import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { createServer } from "node:net";
import { dirname, join } from "node:path";
import { beforeEach, describe, expect, it } from "vitest";
import { ManualClock } from "../../testing/manual-clock.ts";
import { testFolder } from "../../testing/test-folder.test-support.ts";
import { until } from "../../testing/until.ts";
import { collectChanges } from "../../workspaces/git/copies/collect-changes.ts";
import { createWorkingCopy } from "../../workspaces/git/copies/create-working-copy.ts";
import { integrate } from "../../workspaces/git/integration/integrate.ts";
import type { CheckVerdict } from "../../workspaces/git/integration/prepare-merge.ts";
import {
  makeRepository,
  treeOf,
  writeFiles,
} from "../../workspaces/git/repository.test-support.ts";
import type { CheckSubject } from "./merge-checks.ts";
import {
  daemonNamed,
  machine,
  type OpenedShell,
  type Setting,
  untilGone,
  whySkipped,
} from "./shell-fixture.test-support.ts";
import { testShell } from "./test-shell.test-support.ts";

const canary = "sk-canary-1234567890";
let base: string;
let home: string;
let folder: string;

beforeEach(() => {
  base = testFolder();
  home = join(base, "home");
  folder = join(home, "worktrees/one.merged");
  write("home/mandate.db", canary);
  write("home/worktrees/other/secret.txt", canary);
  write("home/worktrees/one.merged/a.txt", "a\n");
});

function write(path: string, text: string): void {
  mkdirSync(dirname(join(base, path)), { recursive: true });
  writeFileSync(join(base, path), text);
}

function open(options: Setting["options"] = {}): OpenedShell {
  const environment = { ...process.env, ANTHROPIC_API_KEY: canary };
  return testShell({ root: base, options: { environment, forbidden: [home], ...options } });
}

function check(
  commands: readonly string[],
  { shell = open(), root = folder, ...about }: Partial<CheckSubject> & Given = {},
): Promise<CheckVerdict> {
  const { signal } = new AbortController();
  const whole = { delegationId: "d", objects: [], timeoutMs: 20_000, signal, ...about };
  return shell.checksFor(commands, whole)({ folder, root });
}

interface Given {
  readonly shell?: OpenedShell;
  readonly root?: string;
}

async function reasonOf(verdict: CheckVerdict | Promise<CheckVerdict>): Promise<string> {
  const known = await verdict;
  return known.passed ? "passed" : known.reason;
}

function lines(count: number): readonly string[] {
  return Array.from({ length: count }, (_, index) => `line ${index + 1}`);
}

const hasBegun = (file: string) => until(`${file} is there`, () => existsSync(join(folder, file)));

describe.skipIf(!machine.isUsable)(`checks of merged files${whySkipped}`, () => {
  it("pass when every command ends with 0, in order, in one folder", async () => {
    const commands = ["echo one > made", "grep -q one made && echo two >> made", "wc -l < made"];
    expect(await check(commands)).toEqual({ passed: true });
    expect(readFileSync(join(folder, "made"), "utf8")).toBe("one\ntwo\n");
  });

  it("begin in the workspace, see all of the merged tree, and nothing that is not in it", async () => {
    write("home/worktrees/one.merged/packages/app/b.txt", "b\n");
    const root = join(folder, "packages/app");
    const commands = [
      '[ "$(pwd)" = "$0" ]'.replace("$0", root),
      "cat b.txt ../../a.txt",
      "ls -A ..",
    ];
    expect(await check(commands, { root })).toEqual({ passed: true });
    expect(await reasonOf(check(["ls -A; exit 1"]))).toMatch(/output:\na\.txt\npackages$/);
  });

  it("fail with the first that does not: its name, its exit code, its last words", async () => {
    const verdict = check(["true", "echo so; echo bad >&2; exit 7", "touch later"]);
    expect(await reasonOf(verdict)).toBe(
      'the check "echo so; echo bad >&2; exit 7" failed. Exit code 7. The end of its output:\nso\nbad',
    );
    expect(existsSync(join(folder, "later"))).toBe(false);
    expect(await reasonOf(check(["exit 1"]))).toBe(
      'the check "exit 1" failed. Exit code 1. No output.',
    );
    expect(await reasonOf(check(["no-such-program"]))).toMatch(/Exit code 127 \(a program was not/);
    expect(await reasonOf(check(["kill -SEGV $$"]))).toMatch(/Exit code 139 \(ended by SIGSEGV\)/);
  });

  it("show at most 20 lines and 2,000 characters of the end, and nothing that drives a terminal", async () => {
    const many = await reasonOf(
      check(["i=0; while [ $((i+=1)) -le 50 ]; do echo line $i; done; false"]),
    );
    expect(many.split("\n").slice(1)).toEqual(lines(50).slice(-20));
    const long = await reasonOf(check(["head -c 3000000 /dev/zero | tr '\\0' x; echo END; false"]));
    expect(long.split("output:\n")[1]).toBe(`${"x".repeat(1997)}END`);
    const hostile =
      "printf '\\033[31mred\\033[0m\\007 \\342\\200\\256 end'; false # \u202e\n# evil";
    const clean = await reasonOf(check([hostile]));
    expect(clean).toMatch(/\nred {2}end$/);
    expect(clean.split("\n")).toHaveLength(2);
  });

  it("fail when they take too long together, and nothing of them is left", async () => {
    const clock = new ManualClock();
    const slow = `${daemonNamed(folder)}; echo begun; touch ready; sleep 60`;
    const verdict = check(["true", slow], { shell: open({ clock }), timeoutMs: 1500 });
    await hasBegun("ready");
    await clock.advance(1500);
    await clock.advance(2000);
    expect(await reasonOf(verdict)).toMatch(
      /^the check ".*" failed\. The checks took longer than 1500 ms and were ended\. .*\nbegun$/s,
    );
    await untilGone(folder);
    expect(await reasonOf(check(["true"], { timeoutMs: 0 }))).toContain("longer than 0 ms");
  });

  it("leave nothing running when they pass, nor a folder of their own behind", async () => {
    const scratch = () => readdirSync(dirname(base)).filter((name) => name.startsWith(ours));
    const ours = `mandate-shell-${process.pid}-`;
    const before = scratch().length;
    expect(
      await check([daemonNamed(folder), "echo kept > /tmp/a", "cat /tmp/a && touch ~/b"]),
    ).toEqual({
      passed: true,
    });
    await untilGone(folder);
    expect(scratch()).toHaveLength(before);
  });

  it("come to no verdict when they are stopped: by the signal, by the delegation's end, at the close", async () => {
    const aborter = new AbortController();
    const shell = open();
    const stops: readonly [() => unknown, RegExp][] = [
      [() => aborter.abort(new Error("cancelled")), /cancelled/],
      [() => shell.release("d"), /stopped before they had ended/],
      [() => shell.close(), /stopped before they had ended/],
    ];
    for (const [stop, message] of stops) {
      rmSync(join(folder, "beat"), { force: true });
      const { signal } = stop === stops[0]?.[0] ? aborter : new AbortController();
      const running = check([`${daemonNamed(folder)}; sleep 60`, "touch later"], { shell, signal });
      const failed = expect(running).rejects.toThrow(message);
      await hasBegun("beat");
      await stop();
      await failed;
      await untilGone(folder);
    }
    await expect(check(["true"], { shell })).rejects.toThrow("closing");
    expect(existsSync(join(folder, "later"))).toBe(false);
  });

  it("are not ended with another delegation", async () => {
    const shell = open();
    const command = "touch begun; while [ ! -e go ]; do sleep 0.02; done";
    const running = check([command], { shell });
    await hasBegun("begun");
    await shell.release("another");
    writeFileSync(join(folder, "go"), "");
    expect(await running).toEqual({ passed: true });
  });

  it("write only in the merged folder, and see neither the runtime's home nor our keys", async () => {
    const command = `cat ${home}/mandate.db ../other/secret.txt /proc/1/root${home}/mandate.db
      ls -A ${home} ${home}/worktrees; env; touch ../planted ${home}/planted ${base}/planted
      for p in /proc/[0-9]*; do tr '\\0' '\\n' < $p/environ; done; ln -s ${home}/mandate.db link
      cat link; rm -rf ${home}/mandate.db ${home}/worktrees/other; echo written > a.txt; false`;
    const reason = await reasonOf(check([`{ ${command}; } > all 2>&1; false`]));
    expect(reason).toContain("Exit code 1");
    const seen = readFileSync(join(folder, "all"), "utf8");
    expect(seen).not.toContain(canary);
    expect(seen).not.toContain("ANTHROPIC");
    expect(seen).toContain(`${home}/worktrees:\none.merged\n`);
    expect(readFileSync(join(home, "mandate.db"), "utf8")).toBe(canary);
    expect(readdirSync(base)).toEqual(["home"]);
    expect(readdirSync(home).sort()).toEqual(["mandate.db", "worktrees"]);
    expect(readdirSync(join(home, "worktrees")).sort()).toEqual(["one.merged", "other"]);
  });

  it("have no network, even where commands of agents have", async () => {
    const server = createServer((socket) => socket.end()).listen(0, "127.0.0.1");
    await new Promise((resolve) => server.once("listening", resolve));
    const address = server.address();
    const port = typeof address === "object" ? (address?.port ?? 0) : 0;
    const script = `require("net").connect(${port}, "127.0.0.1").on("error", () => process.exit(9))`;
    const connect = `node -e '${script}.on("connect", () => process.exit(0))'`;
    expect(await reasonOf(check([connect], { shell: open({ network: true }) }))).toContain(
      "Exit code 9.",
    );
    server.close();
  });

  it("do not use what the child's own commands left in its home", async () => {
    const shell = open();
    expect(await shell.run("echo evil > ~/.profile; echo evil > /tmp/evil")).toContain("code 0");
    expect(await check(["[ ! -e ~/.profile ] && [ ! -e /tmp/evil ]"], { shell })).toEqual({
      passed: true,
    });
  });

  it("may change whatever lies in the folder, since all of it is thrown away", async () => {
    write("home/worktrees/one.merged/profiles/a.md", "a");
    symlinkSync("profiles", join(folder, ".mandate"));
    const commands = [
      "echo b > profiles/a.md",
      "echo c > mandate.yaml",
      "git init -q && git add .",
    ];
    expect(await check(commands)).toEqual({ passed: true });
  });

  it("read the objects that they are shown, and cannot write them", async () => {
    write("home/copies/one/vault.git/objects/ab/cd", "object");
    const objects = [join(home, "copies/one/vault.git/objects")];
    const place = `${objects[0]}/ab/cd`;
    const commands = [`grep object ${place}`, `! rm ${place}`, `! ls ${home}/mandate.db`];
    expect(await check(commands, { objects })).toEqual({ passed: true });
    expect(await reasonOf(check(commands))).toContain("Exit code 2.");
  });

  it("do not follow a link that was put in the workspace's place, and need no file in it", async () => {
    symlinkSync("/etc", join(folder, "linked"));
    const outside = check(["true"], { root: join(folder, "linked") });
    expect(await reasonOf(outside)).toContain("leads outside");
    const swap = ["cd .. && rmdir app && ln -s . app", "ln -sfn /etc app", "true"];
    expect(await reasonOf(check(swap, { root: join(folder, "app") }))).toContain("leads outside");
    expect(await check(["pwd"], { root: join(folder, "gone/empty") })).toEqual({ passed: true });
    const file = check(["true"], { root: join(folder, "a.txt") });
    expect(await reasonOf(file)).toMatch(/the check "true" failed\. .*it exists already/);
  });

  it("fail when a command cannot even be started", async () => {
    expect(await reasonOf(check(["true\0"]))).toMatch(/^the check "true" failed\. /);
    expect(await reasonOf(check([`: ${"x".repeat(3_000_000)}`]))).toMatch(/failed\. .*E2BIG/);
  });
});

describe.skipIf(!machine.isUsable)(`a merge${whySkipped}`, () => {
  it("is made when the merged files pass, and only then", async () => {
    const source = makeRepository({ "a.txt": "a\n", "b.txt": "b\n" });
    const copy = await createWorkingCopy({ source, id: "child", home });
    writeFiles(copy.folder, { "b.txt": "child\n" });
    writeFiles(source, { "a.txt": "person\n" });
    const shell = open();
    const about = { delegationId: "d", objects: copy.objects, timeoutMs: 20_000 };
    const take = async (command: string) => {
      const { signal } = new AbortController();
      const changes = await collectChanges(copy);
      const check = shell.checksFor([command], { ...about, signal });
      return integrate({ copy, changes, check });
    };
    const both = "grep -q person a.txt && grep -q child b.txt";
    expect(await take(`${both} && echo seen; exit 3`)).toMatchObject({
      status: "refused",
      reason: "check-failed",
      sentence: expect.stringMatching(/did not pass: the check .* Exit code 3\. .*\nseen$/s),
    });
    expect(treeOf(source)).toEqual({ "a.txt": "person\n", "b.txt": "b\n" });
    expect(await take(`${both} && echo changed > a.txt`)).toMatchObject({ status: "merged" });
    expect(treeOf(source)).toEqual({ "a.txt": "person\n", "b.txt": "child\n" });
    expect(readdirSync(join(home, "worktrees")).filter((name) => name.includes("child."))).toEqual(
      [],
    );
  });
});

describe("without a sandbox", () => {
  const sandbox = {
    isUsable: false,
    problem: "bubblewrap is not installed.",
    programs: machine.programs,
  } as const;

  it("checks fail, and say what to install or to set", async () => {
    expect(await check(["true"], { shell: open({ sandbox }) })).toEqual({
      passed: false,
      reason: expect.stringMatching(/bubblewrap is not installed\..*tools\.shell\.unsandboxed/),
    });
  });

  it("they run when the operator said so, in an environment as bare", async () => {
    const shell = open({ sandbox, unsandboxed: true });
    expect(await check(['[ -z "$ANTHROPIC_API_KEY" ]', "grep a a.txt"], { shell })).toEqual({
      passed: true,
    });
    expect(await reasonOf(check(["exit 4"], { shell }))).toContain("Exit code 4.");
    const slow = check(["setsid sleep 60 & sleep 60"], { shell, timeoutMs: 500 });
    expect(await reasonOf(slow)).toContain("longer than 500 ms");
  });

  it("no commands are passed by every tree", async () => {
    expect(await check([], { shell: open({ sandbox }) })).toEqual({ passed: true });
  });
});
