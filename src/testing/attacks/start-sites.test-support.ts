/**
 * Every place in the source that starts a process, each started once. A program of its own: the
 * current directory, the PATH and the rest of the environment have to be hostile before it begins.
 * Prints one line of JSON for each site, with its harmless outcome.
 */
import { once } from "node:events";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type Clock, systemClock } from "../../ports/clock.ts";
import { runParser } from "../../tools/documents/read-document.ts";
import { filesWithMatches, findRipgrep } from "../../tools/files/search/ripgrep.ts";
import { McpServers } from "../../tools/mcp/mcp-servers.ts";
import { endGroup } from "../../tools/mcp/process-group.ts";
import { hashContents } from "../../workspaces/git/read-git.ts";
import { askGit } from "../../workspaces/git/run-git.ts";
import { noteAgentFolder } from "../../workspaces/processes/agent-folders.ts";
import { startOfProcess } from "../../workspaces/processes/process-start.ts";
import { startContained } from "../../workspaces/sandbox/contained-program.ts";
import { detectSandbox } from "../../workspaces/sandbox/detect-sandbox.ts";
import { defaultLimits } from "../../workspaces/sandbox/resource-limits.ts";
import {
  createScratchFolder,
  removeScratchFolder,
} from "../../workspaces/sandbox/scratch-folder.ts";
import { until } from "../until.ts";

const [root = "", home = "", stdioServer = ""] = process.argv.slice(2);
type StartDetached = (
  run: { readonly id: string; readonly workspace: string },
  given: { text(): undefined },
  io: { readonly cwd: string; readonly environment: NodeJS.ProcessEnv },
) => Promise<number | undefined>;
type RunProgram = (run: {
  readonly command: string;
  readonly args: readonly string[];
  readonly folder: string;
  readonly environment: NodeJS.ProcessEnv;
  readonly delegationId: string;
  readonly database: string;
}) => { readonly ended: Promise<number | string> };
type PersonShellClass = new (
  folder: string,
  clock: Clock,
) => { run(command: string): Promise<{ readonly text: string }> };

const { signal } = new AbortController();
const emptyBlob = "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391";

/** By the file that starts the process. */
export const sites: Readonly<Record<string, () => Promise<unknown>>> = {
  "workspaces/git/run-git.ts": async () => {
    await askGit(["init", "--quiet", join(home, "repository")]);
    return askGit(["rev-parse", "--is-inside-work-tree"], { cwd: join(home, "repository") });
  },
  "workspaces/git/read-git.ts": async () => {
    const vault = join(home, "repository", ".git");
    await askGit(["hash-object", "-w", "--stdin"], { gitDirectory: vault });
    return (await hashContents(vault, [emptyBlob])).size;
  },
  "tools/files/search/ripgrep.ts": async () => {
    const program = await findRipgrep();
    if (program === null) return "not installed";
    writeFileSync(join(root, "needle.txt"), "needle\n");
    const found = await filesWithMatches({ program, pattern: "needle", root }, [""], signal);
    return found?.has("needle.txt");
  },
  "workspaces/sandbox/detect-sandbox.ts": async () => detectSandbox(process.env).isUsable,
  "workspaces/sandbox/contained-program.ts": async () => {
    const machine = detectSandbox(process.env);
    if (!machine.isUsable) return "no sandbox";
    const scratch = createScratchFolder();
    const { programs, sandbox } = machine;
    const program = startContained(
      { sandbox, programs, environment: process.env, limits: defaultLimits, clock: systemClock },
      {
        policy: {
          ...{ root, allowWrites: true, writeRoots: [root], isThrowaway: true, scratch },
          ...{ forbidden: [], guarded: [], visible: [], ownsGit: false },
        },
        argv: ["/bin/sh", "-c", "git --version >/dev/null; echo contained"],
        cwd: root,
        input: "pipe",
      },
    );
    let said = "";
    program.child.stdout?.on("data", (chunk: Buffer) => (said += chunk.toString()));
    await once(program.child, "close");
    removeScratchFolder(scratch);
    return said;
  },
  "application/gateway/run-program.ts": async () => {
    const application = join(import.meta.dirname, "../../application/gateway/run-program.ts");
    const { runProgram } = (await import(application)) as { runProgram: RunProgram };
    const command = "git";
    const args = ["init", "--quiet", join(home, "gateway")];
    const database = join(home, "gateway.db");
    const about = { folder: root, environment: process.env, delegationId: "000001", database };
    return await runProgram({ command, args, ...about }).ended;
  },
  "tools/shell/shell-process.ts": async () => {
    if (!detectSandbox(process.env).isUsable) return "no sandbox";
    const { openShell } = await import("../../tools/shell/shell-fixture.test-support.ts");
    const shell = openShell({ root });
    const said = await shell.run("git --version; command -v rg python3 node; echo done");
    await shell.close();
    return said;
  },
  "tools/mcp/server-process.ts": async () => {
    const folder = join(home, "servers");
    const servers = new McpServers({ environment: process.env, version: "0", folder });
    const scope = { delegationId: "d", workspace: root, isOwn: true };
    const said: string[] = [];
    const start = async (name: string, command: string, ...args: string[]) => {
      const server = { kind: "stdio", command, args, timeoutMs: 20_000 } as const;
      const opened = servers.open(name, server, scope);
      said.push(await opened.then((tools) => `${tools.length > 0}`, String));
    };
    await start("module", "python3", "-m", "mcp_server_git");
    await start("package", "npx", "--offline", "--yes", "docs-server");
    await start("planted", "docs-server");
    await start("relative", "./docs-server");
    await start("harmless", "node", "--no-warnings", stdioServer, "legacy");
    await servers.close();
    return said;
  },
  "tools/documents/read-document.ts": async () => {
    const limits = { timeMs: 20_000, memoryBytes: 2 ** 30, replyBytes: 2 ** 20 };
    const request = JSON.stringify({ kind: "text" });
    return (await runParser(request, Buffer.from("hello"), { limits, signal })).kind;
  },
  "surfaces/cli/open-browser.ts": async () => {
    // A surface, which is otherwise imported by its entry points alone.
    const surface = join(import.meta.dirname, "../../surfaces/cli/open-browser.ts");
    const { openBrowser } = (await import(surface)) as { openBrowser(url: string): void };
    openBrowser("http://127.0.0.1:1/");
    return "opened or not there";
  },
  "surfaces/cli/start-detached.ts": async () => {
    const surface = join(import.meta.dirname, "../../surfaces/cli/start-detached.ts");
    const { startDetached } = (await import(surface)) as { startDetached: StartDetached };
    const environment = { ...process.env, MANDATE_HOME: join(home, "detached") };
    const given = { text: () => undefined };
    const pid = await startDetached({ id: "r000001", workspace: root }, given, {
      cwd: root,
      environment,
    });
    await until("it has found no such run", () => !isThere(pid ?? 0));
    return "ended";
  },
  "surfaces/tui/person-shell.ts": async () => {
    const surface = join(import.meta.dirname, "../../surfaces/tui/person-shell.ts");
    const { PersonShell } = (await import(surface)) as { PersonShell: PersonShellClass };
    return (await new PersonShell(root, systemClock).run("echo from the shell")).text;
  },
  // Each of them only elsewhere than on Linux.
  "workspaces/processes/process-start.ts": () =>
    on("darwin", async () => typeof startOfProcess(process.pid) === "string"),
  "tools/mcp/process-group.ts": () => on("win32", () => endGroup(2 ** 22 - 1, 10)),
};

function isThere(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

async function on<Value>(platform: string, work: () => Promise<Value>): Promise<Value> {
  const before = process.platform;
  Object.defineProperty(process, "platform", { value: platform });
  try {
    return await work();
  } finally {
    Object.defineProperty(process, "platform", { value: before });
  }
}

if (root !== "") {
  mkdirSync(home, { recursive: true });
  // As the runtime does for the working copies below its home.
  noteAgentFolder(join(home, "worktrees"));
  for (const [site, start] of Object.entries(sites)) {
    const outcome = await start().catch((error: unknown) => `failed: ${String(error)}`);
    process.stdout.write(`${JSON.stringify({ site, outcome: outcome ?? null })}\n`);
  }
  process.exit(0);
}
