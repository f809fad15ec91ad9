import { execFileSync, spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { childEnvironment } from "../../testing/child-environment.test-support.ts";
import { stdioServerPath } from "../../tools/mcp/stdio-server.test-support.ts";
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
  const git = (...words: string[]) => execFileSync("git", ["-C", work, ...words]);
  git("init", "--quiet");
  desk.write("work/a.txt", "a\n");
  git("add", ".");
  git("-c", "user.name=a", "-c", "user.email=a@b", "commit", "--quiet", "-m", "a");
});

afterEach(() => desk.clear());

/** A process of its own: PATH and current directory are those of a hostile repository. */
function mandate(...words: string[]): { code: number | null; out: string } {
  return mandateIn(work, ...words);
}

function mandateIn(cwd: string, ...words: string[]): { code: number | null; out: string } {
  const hostile = [
    ...[join(work, ".venv/bin"), join(work, "node_modules/.bin"), "./node_modules/.bin"],
    ...["", ".", ...(process.env["PATH"] ?? "").split(":")],
  ];
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    ["--no-warnings", program, ...words],
    {
      ...{ cwd, encoding: "utf8", timeout: 90_000 },
      env: {
        ...childEnvironment,
        ...{ HOME: desk.home, MANDATE_HOME: desk.home },
        ...{ XDG_CONFIG_HOME: join(desk.folder, "config"), PATH: hostile.join(":") },
      },
    },
  );
  return { code: status, out: stdout + stderr };
}

const script = () => `#!/bin/sh\\necho $0 $* >> ${marker}\\nexec /usr/bin/git "$@"\\n`;
const plant =
  "mkdir -p .venv/bin node_modules/.bin; for d in . .venv/bin node_modules/.bin; do " +
  "for p in git rg bwrap npx node python3 docs-server; do " +
  "printf 'SCRIPT' > $d/$p; chmod +x $d/$p; done; done";

function playbook(replies: readonly object[]): string {
  return desk.write("playbook.json", JSON.stringify({ version: 1, replies }));
}

describe.skipIf(!machine.isUsable)(`programs that an agent wrote${whySkipped}`, () => {
  test("are not run by a delegation, a later run, a read-only run or doctor", {
    timeout: 200_000,
  }, () => {
    const command = plant.replace("SCRIPT", script().replaceAll('"', '\\"'));
    const file = playbook([
      { when: { depth: 0, turn: 1 }, calls: [{ tool: "shell", input: { command } }] },
      {
        when: { depth: 0, turn: 2 },
        calls: [
          { tool: "grep", input: { pattern: "a" } },
          { tool: "delegate_task", input: { profile: "general", task: "child" } },
        ],
      },
      { when: { depth: 0 }, text: "done" },
      {
        when: { turn: 1 },
        calls: [{ tool: "write_file", input: { path: "b.txt", content: "b" } }],
      },
      { text: "child done" },
    ]);
    const first = mandate("run", "--trust-folder", "--playbook", file, "go");
    expect(first).toMatchObject({ code: 0 });
    expect(existsSync(join(work, ".venv/bin/git"))).toBe(true);
    // The harmless part: the child's file was merged by the git of this machine.
    expect(readFileSync(join(work, "b.txt"), "utf8")).toBe("b");
    const harmless = playbook([{ text: "done" }]);
    expect(mandate("run", "--playbook", harmless, "go")).toMatchObject({ code: 0 });
    expect(mandate("run", "--read-only", "--playbook", harmless, "go")).toMatchObject({ code: 0 });
    expect(mandate("doctor").out).toMatch(/✓ git +\//);
    // Another folder, with the programs of this one still on PATH.
    const other = join(desk.folder, "other");
    mkdirSync(other);
    expect(mandateIn(other, "run", "--trust-folder", "--playbook", file, "go").code).toBe(0);
    expect(mandateIn(other, "doctor").out).toMatch(/✓ git +\//);
    expect(existsSync(marker) ? readFileSync(marker, "utf8") : "").toBe("");
    expect(mandate("verify")).toMatchObject({ code: 0 });
  });

  test("are not run as MCP servers, and servers of the person's own are", {
    timeout: 200_000,
  }, () => {
    const server = (command: string, ...args: string[]) => ({ kind: "stdio", command, args });
    const servers = {
      module: server("python3", "-m", "mcp_server_git"),
      package: server("npx", "--offline", "--yes", "docs-server"),
      own: server(process.execPath, "--no-warnings", stdioServerPath, "legacy"),
    };
    mkdirSync(join(desk.folder, "config/mandate"), { recursive: true });
    desk.write("config/mandate/config.yaml", JSON.stringify({ mcp: { servers } }));
    const text = `open(${JSON.stringify(marker)}, "a").write("module")\n`;
    const file = playbook([
      {
        when: { depth: 0, turn: 1 },
        calls: [{ tool: "delegate_task", input: { profile: "general", task: "evil" } }],
      },
      {
        when: { depth: 0, turn: 2 },
        calls: [{ tool: "delegate_task", input: { profile: "general", task: "two" } }],
      },
      { when: { depth: 0 }, text: "done" },
      {
        when: { task: "evil", turn: 1 },
        calls: [
          { tool: "write_file", input: { path: "mcp_server_git.py", content: text } },
          { tool: "write_file", input: { path: "sitecustomize.py", content: text } },
          {
            tool: "shell",
            input: {
              command: `mkdir -p node_modules/.bin; printf '#!/bin/sh\\necho x >> ${marker}\\n' > node_modules/.bin/docs-server; chmod +x node_modules/.bin/docs-server`,
            },
          },
        ],
      },
      { when: { task: "two", turn: 1 }, calls: [{ tool: "mcp__own__where", input: {} }] },
      { text: "child done {{results}}" },
    ]);
    const { code, out } = mandate("run", "--trust-folder", "--playbook", file, "go");
    expect([code, out]).toEqual([0, expect.stringContaining("run succeeded")]);
    expect(existsSync(join(work, "mcp_server_git.py"))).toBe(true);
    // The person's own server answered, from an empty folder below the home that is gone now.
    expect(out).toContain(`"cwd":"${join(desk.home, "servers")}/`);
    expect(readdirSync(join(desk.home, "servers"))).toEqual(["package.json"]);
    expect(existsSync(marker)).toBe(false);
    expect(mandate("verify")).toMatchObject({ code: 0 });
  });
});
