import { spawnSync } from "node:child_process";
import {
  chmodSync,
  cpSync,
  existsSync,
  globSync,
  mkdirSync,
  readFileSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { beforeEach, describe, expect, test } from "vitest";
import { stdioServerPath } from "../../tools/mcp/stdio-server.test-support.ts";
import { machine } from "../../tools/shell/shell-fixture.test-support.ts";
import { testFolder } from "../test-folder.test-support.ts";
import { sites } from "./start-sites.test-support.ts";

const source = join(import.meta.dirname, "..", "..");
const program = join(import.meta.dirname, "start-sites.test-support.ts");

const planted = [
  ...["git", "rg", "bwrap", "ps", "socat", "tar", "sh", "bash", "env", "node", "npx", "python3"],
  ...["docs-server", "xdg-open", "open", "taskkill", "taskkill.exe", "uvx", "ls", "sed"],
];

let base: string;
let root: string;
let marker: string;

beforeEach(() => {
  base = testFolder();
  root = join(base, "work");
  marker = join(base, "executed");
  for (const folder of ["", "bin", ".venv/bin", "node_modules/.bin", "home", "tmp"]) {
    plant(join(root, folder));
  }
  mkdirSync(join(root, ".git"));
  plant(join(base, "mandate-home/worktrees/x/bin"));
  symlinkSync(join(root, ".venv"), join(base, "link"));
  // A folder outside the workspace whose programs are links into it.
  mkdirSync(join(base, "links"));
  for (const name of planted) symlinkSync(join(root, "bin", name), join(base, "links", name));
  plant(join(base, "open-to-all"));
  chmodSync(join(base, "open-to-all"), 0o777);
  for (const name of ["mcp_server_git.py", "sitecustomize.py", "usercustomize.py", "json.py"]) {
    writeFileSync(join(root, name), `open(${JSON.stringify(marker)}, "a").write("${name}\\n")\n`);
  }
  const script = `require("fs").appendFileSync(${JSON.stringify(marker)}, "script\\n")\n`;
  writeFileSync(join(root, "planted.cjs"), script);
  writeFileSync(join(root, ".npmrc"), `node-options=--require ${join(root, "planted.cjs")}\n`);
  cpSync(join(root, ".npmrc"), join(root, "home/.npmrc"));
  writeFileSync(join(root, "package.json"), '{ "name": "hostile" }\n');
  writeFileSync(join(root, ".tool-versions"), `git path:${root}\nrg path:${root}\n`);
  writeFileSync(join(root, "home/.gitconfig"), `[core]\n\tfsmonitor = ${join(root, "git")}\n`);
  writeFileSync(join(root, "ripgreprc"), `--pre=${join(root, "rg")}\n`);
});

function plant(folder: string): void {
  mkdirSync(folder, { recursive: true });
  for (const name of planted) {
    const file = join(folder, name);
    writeFileSync(file, `#!/bin/sh\necho "${file} $*" >> "${marker}"\n`);
    chmodSync(file, 0o755);
  }
}

/** What a repository, a package manager or an environment file can put around us. */
function hostileEnvironment(): Record<string, string> {
  const hostile = [
    ...["./node_modules/.bin", "", ".", "bin", "../work/bin"],
    ...[join(root, ".venv/bin"), join(root, "node_modules/.bin"), join(base, "link/bin")],
    ...[join(base, "links"), join(base, "mandate-home/worktrees/x/bin")],
    ...[join(base, "open-to-all"), `${root}/./bin/../bin/`],
  ];
  return {
    PATH: [...hostile, process.env["PATH"] ?? ""].join(":"),
    HOME: join(root, "home"),
    TMPDIR: join(root, "tmp"),
    XDG_CONFIG_HOME: join(root, "home"),
    XDG_DATA_DIRS: join(root, "home"),
    BROWSER: join(root, "git"),
    SHELL: join(root, "sh"),
    BASH_ENV: join(root, "git"),
    ENV: join(root, "git"),
    GIT_EXEC_PATH: root,
    GIT_SSH: join(root, "git"),
    GIT_EXTERNAL_DIFF: join(root, "git"),
    GIT_CONFIG_GLOBAL: join(root, "home/.gitconfig"),
    GIT_CONFIG_COUNT: "1",
    GIT_CONFIG_KEY_0: "core.fsmonitor",
    GIT_CONFIG_VALUE_0: join(root, "git"),
    PYTHONPATH: root,
    PYTHONSTARTUP: join(root, "sitecustomize.py"),
    NODE_PATH: root,
    PERL5LIB: root,
    PERL5OPT: "-Mplanted",
    RUBYOPT: "-rplanted",
    RIPGREP_CONFIG_PATH: join(root, "ripgreprc"),
    npm_config_prefix: root,
    npm_config_script_shell: join(root, "sh"),
  };
}

interface Line {
  readonly site: string;
  readonly outcome: unknown;
}

/** The outcome at each site; started in the workspace, or in a folder of it. */
function startAll(cwd: string): ReadonlyMap<string, unknown> {
  const words = ["--no-warnings", program, root, join(base, "mandate-home"), stdioServerPath];
  const { stdout, stderr } = spawnSync(process.execPath, words, {
    ...{ cwd, env: hostileEnvironment(), encoding: "utf8", timeout: 120_000 },
  });
  const lines = stdout.split("\n").filter((line) => line.startsWith("{"));
  if (lines.length !== Object.keys(sites).length) throw new Error(stderr);
  return new Map(lines.map((line) => JSON.parse(line) as Line).map((l) => [l.site, l.outcome]));
}

function executed(): string {
  return existsSync(marker) ? readFileSync(marker, "utf8") : "";
}

test("the table names every place that starts a process", () => {
  const starting = globSync("**/*.{ts,tsx}", { cwd: source }).filter((file) => {
    if (/\.test(-support)?\.tsx?$/.test(file) || file === "workspaces/processes/start-program.ts")
      return false;
    return /\b(?:startProgram|runToEnd)\(/.test(readFileSync(join(source, file), "utf8"));
  });
  expect(Object.keys(sites).sort()).toEqual(starting.sort());
});

describe("a hostile PATH, current directory and environment", () => {
  test.each([
    ["in the workspace", "."],
    ["in a folder below it", "tmp"],
  ])(
    "execute no planted program, and everything harmless works: %s",
    { timeout: 150_000 },
    (_, folder) => {
      const outcomes = startAll(join(root, folder));
      expect(executed()).toBe("");
      expect(outcomes.get("workspaces/git/run-git.ts")).toBe("true");
      expect(outcomes.get("workspaces/git/read-git.ts")).toBe(1);
      expect(outcomes.get("tools/files/search/ripgrep.ts")).not.toBe(false);
      expect(outcomes.get("workspaces/sandbox/detect-sandbox.ts")).toBe(machine.isUsable);
      expect(outcomes.get("tools/documents/read-document.ts")).toBe("reply");
      expect(outcomes.get("workspaces/processes/process-start.ts")).toBe(true);
      expect(outcomes.get("workspaces/sandbox/contained-program.ts")).toBe(
        machine.isUsable ? "contained\n" : "no sandbox",
      );
      expect(outcomes.get("application/gateway/run-program.ts")).toBe(0);
      expect(outcomes.get("surfaces/cli/start-detached.ts")).toBe("ended");
      const shell = outcomes.get("tools/shell/shell-process.ts");
      if (machine.isUsable) {
        expect(shell).toMatch(/git version[\s\S]*done/);
        expect(shell).not.toContain(base);
      }
      const servers = outcomes.get("tools/mcp/server-process.ts") as readonly string[];
      expect(servers.at(-1)).toBe("true");
      expect(servers.slice(0, -1).every((said) => said.includes("MCP server"))).toBe(true);
      expect(servers[2]).toMatch(/was found only at .*which is inside the workspace/);
      expect(servers[3]).toContain("relative path");
    },
  );
});
