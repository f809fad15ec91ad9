import { execFileSync } from "node:child_process";
import {
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { beforeEach, describe, expect, onTestFinished, test } from "vitest";
import { editFile } from "../../tools/files/edit-file.ts";
import { callTool, contextFor } from "../../tools/files/file-tool.test-support.ts";
import { writeFile } from "../../tools/files/write-file.ts";
import {
  machine,
  type OpenedShell,
  whySkipped,
} from "../../tools/shell/shell-fixture.test-support.ts";
import { testShell } from "../../tools/shell/test-shell.test-support.ts";
import { protectedPaths } from "../../workspaces/protected/protected-paths.ts";
import { testFolder } from "../test-folder.test-support.ts";

let base: string;
let root: string;
let marker: string;
let shell: OpenedShell;

beforeEach(() => {
  base = testFolder();
  onTestFinished(() => void execFileSync("chmod", ["-R", "u+rwx", base]));
  root = join(base, "work");
  marker = join(base, "RUN-ON-THE-HOST");
  write("file.txt", "mine\n");
  shell = testShell({ root });
});

function write(path: string, text: string): void {
  mkdirSync(dirname(join(root, path)), { recursive: true });
  writeFileSync(join(root, path), text);
}

/** What a prompt with git does in each folder of the tree. */
function runGitEverywhere(folder = root): void {
  for (const command of ["status --short", "diff", "log -1"]) {
    try {
      execFileSync("git", ["-C", folder, ...command.split(" ")], { stdio: "ignore" });
    } catch {
      // No repository, as it should be.
    }
  }
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    if (entry.isDirectory()) runGitEverywhere(join(folder, entry.name));
  }
}

const settings = (fsmonitor: string) =>
  `[core]\n\trepositoryformatversion = 0\n\tbare = false\n\tworktree = .\n\tfsmonitor = "${fsmonitor}"\n`;

/** Lines for a shell that make a repository of a folder, in this order. */
function linesFor(folder: string, order: readonly string[]): string {
  const lines: Readonly<Record<string, string>> = {
    HEAD: `echo 'ref: refs/heads/main' > ${folder}/HEAD`,
    config: `printf '${settings(`touch ${marker}; false`).replaceAll("\n", "\\n").replaceAll("\t", "\\t")}' > ${folder}/config`,
    objects: `mkdir ${folder}/objects`,
    refs: `mkdir ${folder}/refs`,
  };
  return [`mkdir -p ${folder}`, ...order.map((part) => lines[part])].join("; ");
}

const parts = ["HEAD", "config", "objects", "refs"];
const writing = (path: string, content = "x") =>
  callTool(writeFile, { path, content }, contextFor(root));

const examples = protectedPaths.map(({ path, atRoot }) => ({
  path: path.replace("*", ".local"),
  atRoot: atRoot === true,
}));

describe("file tools", () => {
  test("write and change nothing that is protected, at any depth", async () => {
    for (const { path, atRoot } of examples) {
      for (const folder of atRoot ? [""] : ["", "a/", "a/b/c/d/e/"]) {
        for (const place of [`${folder}${path}`, `${folder}${path}/x.json`]) {
          await expect(writing(place), place).rejects.toMatchObject({ rule: "path_protected" });
        }
      }
    }
    expect(readdirSync(root)).toEqual(["file.txt"]);
    write("a/.mcp.json", "{}");
    const edit = { path: "a/.mcp.json", old_text: "{}", new_text: "{ }" };
    await expect(callTool(editFile, edit, contextFor(root))).rejects.toThrow(/Claude Code obeys/);
    expect(readFileSync(join(root, "a/.mcp.json"), "utf8")).toBe("{}");
  });

  test("say why, and what to do", async () => {
    await expect(writing("sub/.envrc")).rejects.toThrow(
      '"sub/.envrc" cannot be written by agents: direnv obeys it when a person changes into the ' +
        "folder. If it must change, say so in your answer and a person will do it.",
    );
  });

  test("make no repository of a folder, whatever they write first", async () => {
    for (const folder of ["", "x/", "a/b/c/d/e/"]) {
      await writing(`${folder}config`, settings(`touch ${marker}; false`));
      await writing(`${folder}objects/info/x`);
      await writing(`${folder}refs/heads/x`);
      const head = writing(`${folder}HEAD`, "ref: refs/heads/main\n");
      await expect(head, folder).rejects.toThrow(/takes ".*" with it for a repository/);
    }
    await writing("y/HEAD", "ref: refs/heads/main\n");
    await writing("y/refs/x");
    await expect(writing("y/objects/x")).rejects.toMatchObject({ rule: "path_protected" });
    await expect(writing("y/commondir", "../x")).rejects.toMatchObject({ rule: "path_protected" });
    expect(existsSync(join(root, "y/objects"))).toBe(false);
    runGitEverywhere();
    expect(existsSync(marker)).toBe(false);
  });

  test("write what only looks like it", async () => {
    const open = [
      ".github/workflows/ci.yml",
      "src/config",
      "HEAD.md",
      "a/objects/x",
      "docs/refs/x",
    ];
    for (const path of [
      ...open,
      ".vscode/settings.json",
      ".husky/pre-commit",
      ".claude/notes.md",
    ]) {
      expect(await writing(path), path).not.toHaveProperty("isError");
    }
  });
});

test("a repository that a person makes of a folder runs what its settings name", () => {
  const options = { cwd: root, stdio: "ignore" } as const;
  execFileSync("/bin/sh", ["-c", linesFor("x", parts)], options);
  runGitEverywhere();
  expect(existsSync(marker)).toBe(true);
});

describe.skipIf(!machine.isUsable)(`commands${whySkipped}`, () => {
  const make = (path: string) => `mkdir -p "$(dirname ${path})"; echo evil > ${path}`;
  const all = (places: readonly string[], line: (place: string) => string) =>
    places.map((place) => `(${line(place)})`).join("\n");
  const elsewhere = (places: readonly string[]) => `mkdir /tmp/t; cd /tmp/t; ${all(places, make)}`;
  const ways: Readonly<Record<string, (places: readonly string[]) => string>> = {
    redirect: (places) => all(places, make),
    move: (places) => all(places, (path) => `${make("tmp")}; ${make(path)}.x; mv -T tmp ${path}`),
    link: (places) => all(places, (path) => `${make(path)}.x; ln -s /etc/passwd ${path}`),
    copy: (places) => `${elsewhere(places)}; cp -r /tmp/t/. ${root}`,
    archive: (places) => `${elsewhere(places)}; tar c . | tar x -C ${root}`,
  };

  test.each(Object.keys(ways))("leave nothing that is protected, by %s", async (way) => {
    const places = examples.flatMap(({ path, atRoot }) =>
      (atRoot ? [""] : ["", "a/", "b/c/d/e/f/"]).map((folder) => `${folder}${path}`),
    );
    const { isError } = await shell.call({ command: ways[way]?.(places) });
    await shell.release("d");
    expect(isError).toBe(true);
    const isThere = (place: string) => lstatSync(join(root, place), { throwIfNoEntry: false });
    expect(places.filter((place) => isThere(place) !== undefined)).toEqual([]);
    expect(readFileSync(join(root, "file.txt"), "utf8")).toBe("mine\n");
  });

  test("do not bring it along behind a link in the place of its folder", async () => {
    const command =
      "mkdir -p e a; echo '{}' > e/settings.json; ln -s e .claude; ln -s ../e a/.claude";
    const { isError, text } = await shell.call({ command });
    expect(isError).toBe(true);
    expect(text).toContain('"a/.claude" (now "a/.claude.set-aside-');
    expect(existsSync(join(root, ".claude"))).toBe(false);
    expect(existsSync(join(root, "a/.claude"))).toBe(false);
  });

  test("change nothing that a person has there", async () => {
    const theirs = [".mcp.json", ".claude/settings.json", "a/b/.envrc", "a/.codex/config.toml"];
    for (const path of theirs) write(path, "mine");
    await shell.run(
      `for f in ${theirs.join(" ")}; do echo evil > $f; rm -f $f; mv $f x; ln -f $f hard; done
       mv .claude c; rm -rf a; mv a z; mkdir -p a/.codex; echo evil > a/.codex/config.toml`,
    );
    for (const path of theirs) expect(readFileSync(join(root, path), "utf8")).toBe("mine");
    expect(await shell.run("echo fine > a/b/fine; cat a/b/fine .mcp.json")).toContain("fine\nmine");
  });

  test.each([".", "x", "a/b/c/d/e"])("make no repository of %s", async (folder) => {
    const orders = [parts, [...parts].reverse(), ["config", "objects", "HEAD", "refs"]];
    for (const order of orders) {
      const { isError, text } = await shell.call({ command: linesFor(folder, order) });
      expect(isError, text).toBe(true);
      expect(text).toContain(`"${folder}" (now "`);
      runGitEverywhere();
      expect(existsSync(marker)).toBe(false);
      await shell.call({ command: `cd ${folder}; rm -rf objects refs config` });
    }
  });

  test("make none with one command for each part, or together with a file tool", async () => {
    await shell.run("mkdir -p x/objects x/refs");
    await expect(writing("x/HEAD", "ref: refs/heads/x\n")).rejects.toThrow(/for a repository/);
    await writing("y/HEAD", "ref: refs/heads/main\n");
    await writing("y/config", settings(`touch ${marker}; false`));
    expect((await shell.call({ command: "mkdir y/objects" })).isError).toBeUndefined();
    expect((await shell.call({ command: "mkdir y/refs" })).isError).toBe(true);
    runGitEverywhere();
    expect(existsSync(marker)).toBe(false);
  });

  test("hide none: not in one, not behind modes, not under the name it is given", async () => {
    write("theirs/.envrc", "mine");
    await shell.call({
      command: `
        ${linesFor("one", parts)}; ${linesFor("one/two", parts)}; ${linesFor("one/.git", parts)}
        ${linesFor("deep/.git/.git/.codex/.git", parts)}; ${linesFor("deep/.git", parts)}
        ${linesFor("shut/in", parts)}; ${linesFor("stuck/.git", parts)}
        chmod 0311 shut shut/in; chmod 0555 stuck stuck/.git; chmod 0111 one/two
        chmod 0444 theirs; mkdir -p odd/$(printf '\\377'); chmod 0555 odd`,
    });
    execFileSync("chmod", ["-R", "u+rwx", root]);
    runGitEverywhere();
    expect(existsSync(marker)).toBe(false);
    expect(readFileSync(join(root, "theirs/.envrc"), "utf8")).toBe("mine");
  });

  test.each(["git init --bare x", "git init x", `git clone -q --bare ${"$PWD"}/src.git x`])(
    "%s works in /tmp, and is set aside in the workspace",
    async (command) => {
      execFileSync("git", ["init", "--quiet", "--bare", join(root, "src.git")]);
      const inside = await shell.call({ command: command.replace(/ x$/, " /tmp/x") });
      expect(inside.isError, inside.text).toBeUndefined();
      const { isError, text } = await shell.call({ command });
      expect(isError).toBe(true);
      expect(text).toMatch(/Work in \/tmp if you need it for a test\./);
      await shell.call({ command: "ls /tmp/x" });
    },
  );

  test("leave a repository that a person has there as it is", async () => {
    execFileSync("git", ["init", "--quiet", "--bare", join(root, "fixtures/a.git")]);
    const before = readFileSync(join(root, "fixtures/a.git/config"), "utf8");
    const command =
      "cd fixtures; git -C a.git config core.fsmonitor x; echo x > a.git/hooks/update; mv a.git b; " +
      "rm -rf a.git; cd ..; mv fixtures f; git clone -q fixtures/a.git /tmp/c; ls /tmp/c/.git";
    const { isError, text } = await shell.call({ command });
    expect(isError, text).toBeUndefined();
    expect(text).toContain("HEAD");
    expect(readFileSync(join(root, "fixtures/a.git/config"), "utf8")).toBe(before);
    expect(existsSync(join(root, "fixtures/a.git/hooks/update"))).toBe(false);
    await expect(writing("fixtures/a.git/hooks/update")).rejects.toThrow(/for a repository/);
  });

  test("write what only looks like it", async () => {
    const command =
      "mkdir -p .github/workflows .vscode .husky objects docs/refs .claude .cursor/rules\n" +
      "for f in .github/workflows/ci.yml .vscode/settings.json .husky/pre-commit objects/x docs/refs/x " +
      "HEAD.md config .claude/notes.md .cursor/rules/a.mdc .env; do echo x > $f; done; ls -d HEAD.md";
    expect(await shell.run(command)).toBe("Exit code 0.\nHEAD.md\n");
    expect(readFileSync(join(root, ".github/workflows/ci.yml"), "utf8")).toBe("x\n");
  });
});
