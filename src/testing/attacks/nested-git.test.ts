import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { beforeEach, describe, expect, test } from "vitest";
import {
  machine,
  type OpenedShell,
  whySkipped,
} from "../../tools/shell/shell-fixture.test-support.ts";
import { testShell } from "../../tools/shell/test-shell.test-support.ts";
import { testFolder } from "../test-folder.test-support.ts";

let base: string;
let root: string;
let marker: string;
let shell: OpenedShell;

beforeEach(() => {
  base = testFolder();
  root = join(base, "work");
  marker = join(base, "RUN-ON-THE-HOST");
  write("work/file.txt", "mine\n");
  git(root, "init", "--quiet");
  git(root, "add", ".");
  git(root, "commit", "--quiet", "-m", "first");
  shell = testShell({ root });
});

function write(path: string, text: string): void {
  mkdirSync(dirname(join(base, path)), { recursive: true });
  writeFileSync(join(base, path), text);
}

function git(folder: string, ...args: string[]): string {
  const identity = ["-c", "user.name=a", "-c", "user.email=a@example.org"];
  const settings = [...identity, "-c", "protocol.file.allow=always"];
  return execFileSync("git", [...settings, "-C", folder, ...args], {
    ...{ encoding: "utf8", stdio: "pipe" },
  });
}

/** An entry of the index that says: here is another repository. */
function addGitlink(folder: string, path: string): void {
  const head = git(root, "rev-parse", "HEAD").trim();
  git(folder, "update-index", "--add", "--cacheinfo", `160000,${head},${path}`);
}

/** A repository whose settings run a program, by nothing but a shell. */
function plantAt(folder: string): string {
  const settings = `[core]\\n\\trepositoryformatversion = 0\\n\\tfsmonitor = touch ${marker}; false\\n`;
  return `
    mkdir -p ${folder}; cd ${folder} && { rm -rf .git; mv .git .g; mkdir -p .git/objects .git/refs
    echo 'ref: refs/heads/x' > .git/HEAD; printf '${settings}' > .git/config
    cp ${root}/.git/index .git/index; }; cd ${root}; true`;
}

/** What a person does next. */
function lookAsPerson(): void {
  git(root, "status", "--short");
  git(root, "diff");
}

describe.skipIf(!machine.isUsable)(`a repository in a repository${whySkipped}`, () => {
  test("attack 17: it runs what its settings name, if somebody else writes them", () => {
    addGitlink(root, "dep");
    execFileSync("/bin/sh", ["-c", plantAt(join(root, "dep"))], {
      ...{ cwd: root, stdio: "ignore" },
    });
    lookAsPerson();
    expect(existsSync(marker)).toBe(true);
  });

  test.each(["dep", "deep/er/dep"])(
    "attack 17: a command cannot make one where git looks for it, in %s",
    async (path) => {
      addGitlink(root, path);
      // There or not, and on the second try too.
      await shell.run(plantAt(path));
      mkdirSync(join(root, path), { recursive: true });
      await shell.run(plantAt(path));
      await shell.run(`mv ${path} away; mv ${path.split("/")[0]} away; ${plantAt(path)}`);
      lookAsPerson();
      expect(existsSync(marker)).toBe(false);
      await shell.release("d");
      lookAsPerson();
      expect(existsSync(marker)).toBe(false);
      expect(existsSync(join(root, path, ".git"))).toBe(false);
      expect(git(root, "status", "--short")).toMatch(/^A[D ] \S+dep\n$|^A[D ] dep\n$/m);
    },
  );

  test("attack 17: a command cannot put another one in the place of a submodule", async () => {
    git(base, "clone", "--quiet", root, "library");
    git(root, "submodule", "--quiet", "add", join(base, "library"), "lib");
    const inner = join(root, "lib");
    addGitlink(inner, "inner");
    const before = readFileSync(join(inner, ".git"), "utf8");
    for (const path of ["lib", "lib/inner"]) await shell.run(plantAt(path));
    await shell.run(`mv lib away; ${plantAt("lib")}`);
    lookAsPerson();
    expect(existsSync(marker)).toBe(false);
    expect(readFileSync(join(inner, ".git"), "utf8")).toBe(before);
    expect(await shell.run("echo new > lib/new; cd lib && git log --format=%s")).toBe(
      "Exit code 0.\nfirst\n",
    );
    expect(readFileSync(join(inner, "new"), "utf8")).toBe("new\n");
  });

  test("attack 17: one that points into the workspace is guarded where it points", async () => {
    mkdirSync(join(root, "store"));
    git(root, "init", "--quiet", `--separate-git-dir=${join(root, "store/dep")}`, "dep");
    addGitlink(root, "dep");
    await shell.run(`printf '[core]\\n\\tfsmonitor = touch ${marker}\\n' >> store/dep/config`);
    await shell.run("rm -rf store; mv store s2");
    lookAsPerson();
    expect(existsSync(marker)).toBe(false);
    expect(existsSync(join(root, "store/dep/config"))).toBe(true);
  });

  test("attack 8: what file tools refuse at any depth, no command writes either", async () => {
    write("work/packages/a/mandate.yaml", "limits: {}\n");
    write("work/packages/a/.mandate/agents/x.md", "trusted");
    await shell.run(
      `cd packages; echo evil > a/mandate.yaml; echo evil > a/.mandate/agents/x.md; rm -rf a
       mv a b; cd ..; mv packages p; echo evil > packages/a/mandate.yaml; true`,
    );
    expect(readFileSync(join(root, "packages/a/mandate.yaml"), "utf8")).toBe("limits: {}\n");
    expect(readFileSync(join(root, "packages/a/.mandate/agents/x.md"), "utf8")).toBe("trusted");
    const left = await shell.call({ command: "mkdir -p new/x; echo evil > new/x/mandate.yaml" });
    expect(left.isError).toBe(true);
    expect(left.text).toContain('"new/x/mandate.yaml" (now "new/x/mandate.yaml.set-aside-');
    expect(existsSync(join(root, "new/x/mandate.yaml"))).toBe(false);
  });
});
