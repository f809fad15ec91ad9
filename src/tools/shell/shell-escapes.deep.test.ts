import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import {
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { createServer } from "node:net";
import { dirname, join } from "node:path";
import { beforeEach, describe, expect, it } from "vitest";
import { testFolder } from "../../testing/test-folder.test-support.ts";
import { detectSandbox } from "../../workspaces/sandbox/detect-sandbox.ts";
import {
  machine,
  type OpenedShell,
  type Setting,
  whySkipped,
} from "./shell-fixture.test-support.ts";
import { testShell } from "./test-shell.test-support.ts";

const canary = "sk-canary-1234567890";
let base: string;
let root: string;

beforeEach(() => {
  base = testFolder();
  root = join(base, "home/work");
  write("home/work/file.txt", "mine\n");
  write("home/.ssh/id_ed25519", canary);
  write("home/.bashrc", "# mine\n");
  write("home/.local/share/mandate/mandate.db", canary);
  write("outside/secret.txt", canary);
});

function write(path: string, text: string): void {
  mkdirSync(dirname(join(base, path)), { recursive: true });
  writeFileSync(join(base, path), text);
}

function open(setting: Partial<Setting> = {}): OpenedShell {
  const environment = {
    ...process.env,
    HOME: join(base, "home"),
    ANTHROPIC_API_KEY: canary,
    GIT_DIR: join(base, "outside"),
    AWS_SECRET_ACCESS_KEY: canary,
  };
  const sandbox = detectSandbox(environment);
  const options = { environment, sandbox, ...setting.options };
  return testShell({ root, ...setting, options });
}

/** Everything below a folder, with contents. */
function snapshot(folder: string): string {
  const hash = createHash("sha256");
  const entries = readdirSync(folder, { recursive: true, encoding: "utf8" }).sort();
  for (const entry of entries) {
    const status = lstatSync(join(folder, entry));
    hash.update(`${entry}\0${status.mode}\0`);
    if (status.isFile()) hash.update(readFileSync(join(folder, entry)));
  }
  return hash.digest("hex");
}

function git(folder: string, ...args: string[]): string {
  const identity = ["-c", "user.name=a", "-c", "user.email=a@example.org"];
  return execFileSync("git", [...identity, "-C", folder, ...args], { encoding: "utf8" });
}

describe.skipIf(!machine.isUsable)(`from inside the sandbox${whySkipped}`, () => {
  it("nothing outside the workspace can be read, by any path", async () => {
    symlinkSync(join(base, "outside/secret.txt"), join(root, "link"));
    const shell = open();
    const text = await shell.run(
      `cat ../../outside/secret.txt ${base}/outside/secret.txt link ${base}/home/.ssh/id_ed25519 \
       ~/.ssh/* ../.local/share/mandate/mandate.db /proc/self/root${base}/outside/secret.txt \
       /proc/1/root${base}/outside/secret.txt /etc/shadow /var/log/* /run/* /sys/* /root/.bash*
       ls -a ${base} ${base}/home`,
    );
    expect(text).not.toContain(canary);
    expect(text).toContain(`${base}:\n.\n..\nhome\n`);
    expect(text).toContain(`${base}/home:\n.\n..\nwork\n`);
  });

  it("nothing outside the write roots can be written", async () => {
    const before = snapshot(base);
    const shell = open();
    const text = await shell.run(
      `for place in ${base}/outside / /usr /usr/bin /etc /opt /var /dev /proc \
         /proc/sys/kernel /run; do touch $place/planted && echo "wrote $place"; done
       touch ${base}/planted ${base}/home/planted; echo evil >> ~/.bashrc; echo evil >> ${base}/home/.bashrc; rm -rf ${base}/outside
       echo 1 > /proc/sys/vm/drop_caches; ln ${base}/outside/secret.txt stolen; true`,
    );
    expect(text).not.toContain("wrote");
    await shell.close();
    expect(snapshot(base)).toBe(before);
  });

  it("no key of ours is anywhere in the environment or among the processes", async () => {
    const text = await open().run(
      "env; for p in /proc/[0-9]*; do tr '\\0' '\\n' < $p/environ; done; ls -d /proc/[0-9]* | wc -l",
    );
    expect(text).not.toContain(canary);
    expect(text).not.toMatch(/ANTHROPIC|AWS_|GIT_DIR|VITEST/);
    // Its own few, and none of the machine's.
    expect(Number(text.trim().split("\n").at(-1))).toBeLessThan(8);
    expect(await open().run(`kill -0 ${process.pid}`)).toContain("Exit code 1.");
  });

  it("no privilege is left or can be had again", async () => {
    const text = await open().run(
      `grep -E 'Cap(Prm|Eff|Bnd)|NoNewPrivs' /proc/self/status
       unshare -Ur true && echo GAINED; mount -t tmpfs none /mnt && echo GAINED
       mknod node b 8 0 && echo GAINED; mount -o remount,rw / && echo GAINED; true`,
    );
    expect(text.match(/Cap\w+:\s+0{16}/g)).toHaveLength(3);
    expect(text).toMatch(/NoNewPrivs:\s+1/);
    expect(text).not.toContain("GAINED");
  });

  it("a read-only contract reads the workspace and changes nothing in it", async () => {
    const before = snapshot(root);
    const shell = open({ request: { allowWrites: false } });
    const text = await shell.run(
      "cat file.txt; echo x > file.txt; rm file.txt; touch new; chmod 777 .; echo ok > /tmp/a",
    );
    expect(text).toContain("mine\n");
    expect(text.match(/Read-only file system/g)).toHaveLength(4);
    expect(snapshot(root)).toBe(before);
  });

  it("only the write roots can be written, however they are nested", async () => {
    write("home/work/out/deep/a.txt", "a");
    const shell = open({ request: { writeRoots: ["out", "out/deep"] } });
    await shell.run("echo x > out/b; echo x > out/deep/c; echo x > file.txt; touch d");
    await shell.run(`mv out/deep out/away; ln -s ${base}/outside out/deep; mv out/deep out/link`);
    await shell.run("echo evil > out/deep/secret.txt; echo evil > out/link/secret.txt; mv out o2");
    expect(readFileSync(join(base, "outside/secret.txt"), "utf8")).toBe(canary);
    expect(readFileSync(join(root, "file.txt"), "utf8")).toBe("mine\n");
    expect(readdirSync(root).sort()).toEqual(["file.txt", "out"]);
    expect(existsSync(join(root, "out/b"))).toBe(true);
  });

  it("what is forbidden stays hidden where the workspace lies around it", async () => {
    const forbidden = [join(base, "home/.local/share/mandate"), join(base, "home/.config/mandate")];
    const shell = open({ root: join(base, "home"), request: { forbidden } });
    const attack =
      "cat .local/share/mandate/*; mv .local .moved; cat .moved/share/mandate/*; " +
      "mkdir -p .config/mandate && echo x > .config/mandate/config.yaml; mv .config .c; " +
      "rm -rf .local; ls -A .local/share/mandate";
    for (let time = 0; time < 3; time++) expect(await shell.run(attack)).not.toContain(canary);
    await shell.release("d");
    expect(readFileSync(join(base, "home/.local/share/mandate/mandate.db"), "utf8")).toBe(canary);
    expect(existsSync(join(base, "home/.config"))).toBe(false);
  });

  it("the runtime's own folder stays hidden around a working copy, also among programs", async () => {
    const home = join(base, "programs");
    write("programs/worktrees/copy/file.txt", "copy\n");
    write("programs/mandate.db", canary);
    const environment = { ...process.env, PATH: `${process.env["PATH"]}:${home}` };
    const options = { forbidden: [home], environment, sandbox: detectSandbox(environment) };
    const shell = open({ root: join(home, "worktrees/copy"), options });
    const text = await shell.run(`cat file.txt; cat ${home}/mandate.db; ls -A ${home}`);
    expect(text).toContain("copy\n");
    expect(text).not.toContain(canary);
    expect(text).toMatch(/\nworktrees\n$/);
  });

  it("what the next start obeys cannot be changed, moved or created", async () => {
    write("home/work/.agents/skills/a/SKILL.md", "trusted");
    const shell = open({ request: { guarded: [join(root, ".agents/skills")] } });
    for (let time = 0; time < 2; time++) {
      await shell.run(
        `echo evil > .agents/skills/a/SKILL.md; mv .agents .x; rm -rf .agents
         mkdir -p .mandate/agents && echo evil > .mandate/agents/a.md; echo evil > mandate.yaml
         mkdir profiles; echo evil > profiles/a.md; mv mandate.yaml m; rm -rf .mandate profiles
         ln -sf /tmp/evil mandate.yaml; git init .; echo fine > fine`,
      );
    }
    await shell.release("d");
    expect(readdirSync(root).sort()).toEqual([".agents", "file.txt", "fine"]);
    expect(readFileSync(join(root, ".agents/skills/a/SKILL.md"), "utf8")).toBe("trusted");
  });

  it("a guarded name that is a link is refused rather than left open", async () => {
    symlinkSync("elsewhere", join(root, ".mandate"));
    await expect(open().call({ command: "true" })).rejects.toMatchObject({ rule: "guard_is_link" });
  });

  it("memory that is shared by name is its own", async () => {
    const name = `mandate-${process.pid}`;
    expect(await open().run(`echo x > /dev/shm/${name} && ls /dev/shm`)).toBe(
      `Exit code 0.\n${name}\n`,
    );
    expect(existsSync(`/dev/shm/${name}`)).toBe(false);
  });
});

describe.skipIf(!machine.isUsable)(`the network of a command${whySkipped}`, () => {
  const connect = (port: number) =>
    `node -e 'const s = require("net").connect(${port}, "127.0.0.1", () => { console.log("IN"); ` +
    `s.end(); }); s.on("error", (e) => console.log(e.code))'`;

  async function withServer(use: (port: number) => Promise<void>): Promise<void> {
    const server = createServer((socket) => socket.end()).listen(0, "127.0.0.1");
    try {
      await new Promise((resolve) => server.once("listening", resolve));
      const address = server.address();
      await use(typeof address === "object" ? (address?.port ?? 0) : 0);
    } finally {
      server.close();
    }
  }

  it("is not there, not even loopback, whatever tool and contract grant", async () => {
    await withServer(async (port) => {
      const cases = [
        open(),
        open({ options: { network: true } }),
        open({ context: { network: "*" } }),
        open({ options: { network: true }, context: { network: ["example.org"] } }),
        open({ options: { network: true }, context: { network: "*" } }),
      ];
      for (const shell of cases) expect(await shell.run(connect(port))).not.toContain("IN");
    });
  });
});

describe.skipIf(!machine.isUsable)(`git from inside the sandbox${whySkipped}`, () => {
  const planting = `
    echo evil >> .git/config; git config core.fsmonitor ./evil; echo evil > .git/hooks/pre-commit
    echo evil > .git/info/attributes; mkdir -p .git/hooks; mv .git .g; rm -rf .git/hooks
    mv .git/objects .git/o; mv .git/config .git/c; ln -sf /tmp/evil .git/config; cp -r .git .h
    git init --separate-git-dir=/tmp/g .; git init --template=/tmp .; git worktree add /tmp/w; true`;

  beforeEach(() => {
    git(root, "init", "--quiet");
    git(root, "add", ".");
    git(root, "commit", "--quiet", "-m", "first");
  });

  it("reads the repository of a shared workspace and changes nothing in it", async () => {
    const before = snapshot(join(root, ".git"));
    const shell = open();
    expect(await shell.run("git log --format=%s; git status --short")).toBe(
      "Exit code 0.\nfirst\n",
    );
    await shell.run(`${planting}; git commit -m x --allow-empty; echo ../e > .git/commondir`);
    expect(snapshot(join(root, ".git"))).toBe(before);
  });

  it("commits in a working copy of its own, and cannot plant what git would run", async () => {
    const steering = () =>
      ["config", "hooks", "info", "objects/info"].map((name) => {
        const place = join(root, ".git", name);
        return lstatSync(place).isDirectory() ? snapshot(place) : readFileSync(place, "utf8");
      });
    mkdirSync(join(root, ".git/objects/info"), { recursive: true });
    const before = steering();
    const shell = open({ request: { isolation: "sandbox" } });
    await shell.run(`${planting}; echo ../evil > .git/commondir`);
    expect(await shell.run("git init -q sub; rm -rf .h sub; echo new > new; git add -A")).toBe(
      "Exit code 0. No output.",
    );
    expect(await shell.run("git commit -q -m second; git log --format=%s")).toBe(
      "Exit code 0.\nsecond\nfirst\n",
    );
    await shell.release("d");
    expect(steering()).toEqual(before);
    expect(existsSync(join(root, ".git/commondir"))).toBe(false);
    // Nothing that stood in for a missing file was taken for one.
    expect(git(root, "ls-files")).toBe("file.txt\nnew\n");
    expect(git(root, "status", "--porcelain")).toBe("");
  });

  it("reads objects that a working copy borrows, when they are shown", async () => {
    const copy = join(base, "copy");
    execFileSync("git", ["clone", "--quiet", "--shared", root, copy]);
    const hidden = open({ root: copy, request: { isolation: "sandbox" } });
    expect(await hidden.run("git log --format=%s")).not.toContain("first");
    const visible = [join(root, ".git/objects")];
    const shown = open({ root: copy, request: { isolation: "sandbox" }, visible });
    expect(await shown.run("git log --format=%s")).toBe("Exit code 0.\nfirst\n");
    await shown.run(`rm -rf ${root}/.git/objects; touch ${root}/.git/objects/x; ls ${root}`);
    expect(git(root, "fsck")).toBe("");
  });

  it("does not obey a folder that only looks like a repository", async () => {
    git(root, "init", "--quiet", "--bare", "evil");
    const settings = `[core]\n\trepositoryformatversion = 0\n\tbare = false\n\tworktree = ${root}\n`;
    writeFileSync(
      join(root, "evil/config"),
      `${settings}\tfsmonitor = touch ${root}/marker; false\n`,
    );
    const shell = open({ request: { isolation: "sandbox" } });
    expect((await shell.call({ argv: ["git", "status"], cwd: "evil" })).text).toContain("fatal");
    expect(existsSync(join(root, "marker"))).toBe(false);
    // It would have: named explicitly, which rules for git do not let through.
    await shell.run("git --git-dir=evil status");
    expect(existsSync(join(root, "marker"))).toBe(true);
  });

  it("does not reach another repository in 200 ways", async () => {
    const main = join(base, "main");
    execFileSync("git", ["clone", "--quiet", root, main]);
    const before = snapshot(main);
    const ways = [
      `git -C ${main}`,
      `git -C ../../main`,
      `git --git-dir=${main}/.git --work-tree=${main}`,
      `GIT_DIR=${main}/.git GIT_WORK_TREE=${main} git`,
      `GIT_DIR=${main}/.git git`,
      `cd ${main} && git`,
      `env -C ${main} git`,
      `git -c core.worktree=${main}`,
      `git --git-dir=/proc/self/cwd/../../main/.git`,
      `GIT_COMMON_DIR=${main}/.git git`,
    ];
    const verbs = [
      ...["commit --allow-empty -m evil", "checkout -b evil", "reset --hard HEAD~1", "clean -fdx"],
      ...["config user.name evil", "stash", "tag evil", "branch evil", "rm -rf file.txt"],
      ...["update-ref HEAD HEAD", "remote add evil .", "gc --prune=now", "init", "add -A"],
      ...["apply --unsafe-paths /dev/null", "worktree add /tmp/evil", "rebase --root"],
      ...["merge --no-ff HEAD", "notes add -m evil", "symbolic-ref HEAD refs/heads/evil"],
    ];
    const lines = ways.flatMap((way) => verbs.map((verb) => `(${way} ${verb})`));
    expect(lines).toHaveLength(200);
    const shell = open({ request: { isolation: "sandbox" } });
    await shell.run(`${lines.join("\n")}\necho evil > ${main}/file.txt`);
    expect(snapshot(main)).toBe(before);
  });
});
