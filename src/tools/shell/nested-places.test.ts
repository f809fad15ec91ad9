import { execFileSync } from "node:child_process";
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
import { testFolder } from "../../testing/test-folder.test-support.ts";
import { steersTerminal } from "../../workspaces/resolve-for-writing.ts";
import { machine, type OpenedShell, whySkipped } from "./shell-fixture.test-support.ts";
import { testShell } from "./test-shell.test-support.ts";

let root: string;
let shell: OpenedShell;

beforeEach(() => {
  root = testFolder();
  shell = testShell({ root });
});

const setAside = (folder: string, name: string) =>
  readdirSync(join(root, folder)).filter((entry) => entry.startsWith(`${name}.set-aside-`));

describe.skipIf(!machine.isUsable)(`what a command leaves for git to obey${whySkipped}`, () => {
  it("is set aside and fails the call, whatever it is", async () => {
    const { isError, text } = await shell.call({
      command: "git init -q a; mkdir b c; echo gitdir: /x > b/.git; ln -s ../a c/.GIT; echo said",
    });
    expect(isError).toBe(true);
    expect(text).toMatch(/^Exit code 0\. While commands ran.*"a\/\.git" \(now "a\/\.git\.set-/);
    expect(text).toMatch(/"b\/\.git" .*"c\/\.GIT" .*\nsaid\n$/);
    for (const [folder, name] of [
      ["a", ".git"],
      ["b", ".git"],
      ["c", ".GIT"],
    ] as const) {
      expect(setAside(folder, name)).toHaveLength(1);
      expect(existsSync(join(root, folder, name))).toBe(false);
    }
    expect(await shell.run("true")).toBe("Exit code 0. No output.");
  });

  it("is what a protected link leads to, through however many others", async () => {
    mkdirSync(join(root, "conf"));
    mkdirSync(join(root, "real"));
    writeFileSync(join(root, "conf/env"), "mine");
    writeFileSync(join(root, "real/settings.json"), "mine");
    for (const [link, target] of [
      [".envrc", "a"],
      ["a", "conf/env"],
      [".claude", "mid"],
      ["mid", "real"],
    ] as const) {
      symlinkSync(target, join(root, link));
    }
    const { isError } = await shell.call({
      command:
        "rm a mid; echo evil > a; mkdir mid; echo evil > mid/settings.json; echo x > conf/env",
    });
    expect(isError).toBe(true);
    expect(existsSync(join(root, ".envrc"))).toBe(false);
    expect(existsSync(join(root, ".claude/settings.json"))).toBe(false);
    expect(readFileSync(join(root, "conf/env"), "utf8")).toBe("mine");
    expect(await shell.run("echo fine > ordinary")).toBe("Exit code 0. No output.");
  });

  it("is a name that a terminal would obey, unless it was there before", async () => {
    writeFileSync(join(root, "mine\r"), "kept");
    const { isError, text } = await shell.call({
      command: String.raw`touch "$(printf 'a\033[31mb')" "$(printf 'c\nd')" plain; mkdir "$(printf 'e\342\200\256f')"`,
    });
    expect(isError).toBe(true);
    expect(text).toContain('"a\u241b[31mb" (now "ab.set-aside-');
    const names = readdirSync(root).map((name) => name.replace(/set-aside-\w+$/, "set-aside"));
    for (const name of ["ab.set-aside", "c_d.set-aside", "ef.set-aside", "mine\r", "plain"]) {
      expect(names).toContain(name);
    }
    expect(names.filter(steersTerminal)).toEqual(["mine\r"]);
  });

  it("is nothing to say when the command took it away itself", async () => {
    expect(await shell.run("git init -q a && rm -rf a; mkdir -p b/.git")).toBe(
      "Exit code 0. No output.",
    );
  });

  it("is found at the next command too, while one in the background makes it", async () => {
    const command = "while [ ! -e go ]; do sleep 0.05; done; git init -q a; touch done; sleep 60";
    await shell.call({ command, background: true });
    const { text, isError } = await shell.call({
      command: "touch go; while [ ! -e done ]; do sleep 0.05; done",
    });
    expect(isError).toBe(true);
    expect(text).toContain('"a/.git"');
    mkdirSync(join(root, "a/.git"));
    writeFileSync(join(root, "a/.git/HEAD"), "");
    const next = await shell.call({ command: "cat a/.git/HEAD" });
    expect(next.text).toMatch(/"a\/\.git" \(now.*\n.*No such file/);
    expect(setAside("a", ".git")).toHaveLength(2);
    await shell.call({ handle: "bg-1", action: "stop" });
    // By now it is a person's.
    mkdirSync(join(root, "a/.git"));
    writeFileSync(join(root, "a/.git/HEAD"), "");
    expect(await shell.run("echo x > a/.git/HEAD; true")).toContain("Read-only file system");
    expect(readFileSync(join(root, "a/.git/HEAD"), "utf8")).toBe("");
  });

  it("is left alone in a working copy, whose changes are looked at when they are merged", async () => {
    const copy = testShell({ root, request: { isolation: "sandbox" } });
    expect(await copy.run("git init -q a")).toBe("Exit code 0. No output.");
    expect(existsSync(join(root, "a/.git"))).toBe(true);
  });

  it("cannot come from a command whose delegation ended while it was being prepared", async () => {
    const running = shell.call({ command: "touch late" });
    await Promise.all([expect(running).rejects.toThrow("has ended"), shell.release("d")]);
    expect(readdirSync(root)).toEqual([]);
  });

  it("a link in its place closes the folder around it, and says so", async () => {
    mkdirSync(join(root, "a/b"), { recursive: true });
    symlinkSync("../elsewhere", join(root, "a/b/.git"));
    const text = await shell.run("rm a/b/.git; echo x > a/b/file; echo x > a/file; ls a");
    expect(text).toMatch(/^Exit code 0\. Read-only for this command, .*: "a\/b"\./);
    expect(text).toMatch(/Read-only file system\n.*\nb\nfile\n$/);
    expect(readdirSync(join(root, "a/b"))).toEqual([".git"]);
  });

  it("a name that is no text is not a hiding place", async () => {
    const odd = Buffer.concat([Buffer.from(`${root}/a/`), Buffer.from([0xff])]);
    mkdirSync(join(root, "a"));
    mkdirSync(odd);
    const text = await shell.run("git init -q a/$(printf '\\377'); echo x > a/x; echo x > y");
    expect(text).toMatch(/Read-only for this command, .*: "a"\./);
    expect(readdirSync(odd)).toEqual([]);
    const { isError, text: left } = await shell.call({
      command: "mkdir b; git init -q b/$(printf '\\377')",
    });
    expect(isError).toBe(true);
    expect(left).toMatch(/"b\/_\.set-aside-[0-9a-f]{8}\/\.git" \(now /);
    const [name = ""] = readdirSync(join(root, "b"));
    expect(readdirSync(join(root, "b", name))).toEqual([
      expect.stringMatching(/^\.git\.set-aside-/),
    ]);
  });

  it("a file where git looks for a repository stays that file", async () => {
    execFileSync("git", ["init", "--quiet", root]);
    const link = `160000,${"1".repeat(40)},dep`;
    execFileSync("git", ["-C", root, "update-index", "--add", "--cacheinfo", link]);
    writeFileSync(join(root, "dep"), "a file");
    await shell.run("rm -f dep; mkdir dep; git init -q dep; true");
    expect(readFileSync(join(root, "dep"), "utf8")).toBe("a file");
  });
});
