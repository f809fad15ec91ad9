import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { Profile } from "../../agents/profiles/profile.ts";
import type { Script } from "../../models/scripted/scripted-model.ts";
import { isDistributed } from "../../testing/alter-database.test-support.ts";
import { ofType, openEngine, testProfile } from "../../testing/engine-fixture.ts";
import { until } from "../../testing/until.ts";
import { createShellTool } from "../../tools/shell/shell-tool.ts";
import { detectSandbox } from "../../workspaces/sandbox/detect-sandbox.ts";

const finding = detectSandbox(process.env);
const title = finding.isUsable
  ? "commands of an agent"
  : `commands of an agent (skipped: ${finding.problem})`;
const noPrograms = { folders: [], path: [], variables: {} };
const path = { PATH: process.env["PATH"] ?? "" };

function running(...commands: readonly object[]): Script {
  return ({ caller }) => {
    const input = commands[caller.turn - 1];
    return input === undefined ? "done" : { calls: [{ tool: "shell", input }] };
  };
}

async function open(model: Script, fields: Partial<Profile> = {}) {
  const profiles = [testProfile("a", { tools: ["shell"], ...fields })];
  return openEngine({ profiles, model, environment: path });
}

/** How many processes have this in their command line, of everybody's. */
function alive(pattern: RegExp): number {
  return readdirSync("/proc").filter((pid) => {
    if (!/^\d+$/.test(pid)) return false;
    try {
      return pattern.test(readFileSync(`/proc/${pid}/cmdline`, "utf8"));
    } catch {
      return false;
    }
  }).length;
}

const ours = (seconds: string): RegExp => new RegExp(`${seconds}\\.${process.pid}\\b`);

describe.skipIf(!finding.isUsable)(title, () => {
  it("run in its workspace, and leave what they made there", async () => {
    await using mandate = await open(running({ command: "echo hello > made.txt; cat made.txt" }));
    const { workspace } = mandate;
    const { events } = await mandate.run({ task: "go", profile: "a", workspace });
    expect(ofType(events, "agent.tool_completed")[0]?.payload.output).toContain("hello");
    expect(readFileSync(join(workspace, "made.txt"), "utf8")).toBe("hello\n");
  });

  it("write nothing where the contract is read-only, and reach neither home nor network", async () => {
    await using mandate = await open(
      running(
        { command: "echo x > made.txt" },
        { command: `ls ${process.env["HOME"] ?? "/root"}/.ssh /etc/shadow` },
        { command: "cat < /dev/tcp/127.0.0.1/80 || getent hosts example.com" },
      ),
      { workspace: { allowWrites: false } },
    );
    const { workspace, home } = mandate;
    writeFileSync(join(workspace, "kept.txt"), "kept");
    const { events } = await mandate.run({ task: "go", profile: "a", workspace });
    expect(existsSync(join(workspace, "made.txt"))).toBe(false);
    expect(existsSync(home)).toBe(true);
    const said = ofType(events, "agent.tool_completed").map(({ payload }) => payload.output);
    expect(said).toHaveLength(3);
    for (const output of said) expect(output).not.toMatch(/exit code 0|Exit code: 0/i);
  });

  it("that were left in the background are gone when the agent is", async () => {
    const [one, two, three] = ["300", "301", "302"].map((seconds) => `${seconds}.${process.pid}`);
    const command = `sh -c 'trap "" TERM; sleep ${one}' & setsid sleep ${two} & sleep ${three}`;
    await using mandate = await open(running({ command, background: true }));
    const { workspace } = mandate;
    const { result } = await mandate.run({ task: "go", profile: "a", workspace });
    expect(result.status).toBe("completed");
    expect(alive(ours("30[0-2]"))).toBe(0);
  });

  it("end when the agent is cancelled in the middle of one", async () => {
    await using mandate = await open(running({ command: `sleep 303.${process.pid}` }));
    const { workspace } = mandate;
    const started = await mandate.start({ task: "go", profile: "a", workspace });
    await until("the command runs", () => alive(ours("303")) > 0);
    await mandate.engine.cancel(started.runId, "enough");
    expect((await started.result).status).toBe("cancelled");
    // Where runs are spread, a delegation is closed in the log first, and then its worker hears of it.
    if (isDistributed) await until("the command is gone", () => alive(ours("303")) === 0);
    expect(alive(ours("303"))).toBe(0);
  });

  it("pass the rules of the contract, command by command", async () => {
    const toolRules = [
      { tool: "shell", action: "deny" as const },
      { tool: "shell", match: "git *", action: "allow" as const },
    ];
    await using mandate = await open(
      running(
        { command: "git --version" },
        { command: "git --version; touch escaped" },
        { command: 'git --version "$(touch escaped)"' },
        { argv: ["touch", "escaped"] },
      ),
      { toolRules },
    );
    const { workspace } = mandate;
    const { events } = await mandate.run({ task: "go", profile: "a", workspace });
    expect(ofType(events, "agent.tool_completed")).toHaveLength(1);
    expect(ofType(events, "agent.tool_denied")).toHaveLength(3);
    expect(existsSync(join(workspace, "escaped"))).toBe(false);
  });
});

it("a contract names the tools whose commands run without a sandbox", async () => {
  const missing = { isUsable: false, problem: "There is none.", programs: noPrograms } as const;
  for (const [sandbox, named] of [
    [missing, ["shell"]],
    [finding, finding.isUsable ? undefined : ["shell"]],
  ] as const) {
    const shell = createShellTool({ sandbox, unsandboxed: true, environment: path });
    await using mandate = await openEngine({
      profiles: [testProfile("a", { tools: ["shell"] })],
      tools: [shell.tool],
      model: running(),
    });
    const { workspace } = mandate;
    const { delegationId } = await mandate.run({ task: "go", profile: "a", workspace });
    const contract = await mandate.store.readContract(delegationId);
    expect(contract.permissions.unsandboxed).toEqual(named);
    await shell.close();
  }
});
