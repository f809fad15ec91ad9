import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import type { McpServer } from "../contracts/mcp-server.ts";
import { defaultConfig } from "../control/config.ts";
import type { Violation } from "../events/checker/check-report.ts";
import type { Script } from "../models/scripted/scripted-model.ts";
import { type EngineOptions, openEngine, testProfile } from "../testing/engine-fixture.ts";
import { ManualClock } from "../testing/manual-clock.ts";
import { until } from "../testing/until.ts";
import { stdioServerPath } from "../tools/mcp/stdio-server.test-support.ts";
import { delegationMark, markedProcesses, markName } from "../workspaces/delegation-mark.ts";
import { createWorkingCopy } from "../workspaces/git/copies/create-working-copy.ts";
import { detectSandbox } from "../workspaces/sandbox/detect-sandbox.ts";
import { verifyHome } from "./verify-home.ts";

const writing = { tool: "write_file", input: { path: "a.txt", content: "a" } };
const profiles = [
  testProfile("lead", { tools: ["delegate_task", "write_file"] }),
  testProfile("writer", { tools: ["write_file"] }),
];

/** The lead delegates once; the writer writes, then does as the test says. */
function delegating(task: string, afterwards: Script = () => "written"): Script {
  const delegate = { tool: "delegate_task", input: { profile: "writer", task } };
  return (request) => {
    const { profile, turn } = request.caller;
    if (profile === "lead") return turn === 1 ? { calls: [delegate] } : "done";
    return turn === 1 ? { calls: [writing] } : afterwards(request);
  };
}

type Engine = Awaited<ReturnType<typeof openEngine>>;

function placesOf({ home, database }: Engine) {
  return { home, database };
}

async function verify(engine: Engine, options = {}): Promise<readonly Violation[]> {
  const places = placesOf(engine);
  const report = await verifyHome(engine.store, { places, ...options });
  expect(report.ok).toBe(report.violations.length === 0);
  return report.violations;
}

/** A copy that a process left which is gone. */
async function leaveCopy({ home, workspace }: Engine, id: string): Promise<void> {
  await createWorkingCopy({ source: workspace, id, home });
  writeFileSync(join(home, "copies", id, "holder"), "1.2.3.4");
}

const run = ({ workspace }: Engine) => ({ task: "go", profile: "lead", workspace });

describe("verifyHome", () => {
  it("finds nothing beside what was done, and nothing beside what is going on", async () => {
    const stall: Script = () => ({ fault: "stall" });
    const { promise: isAtWork, resolve } = Promise.withResolvers<void>();
    await using engine = await openEngine({
      profiles,
      model: delegating("stay", (request) => {
        resolve();
        return stall(request);
      }),
    });
    const { delegationId, result } = await engine.start(run(engine));
    await isAtWork;
    expect(await verify(engine)).toEqual([]);
    await engine.engine.cancel(delegationId, "enough");
    await result;
    expect(await verify(engine)).toEqual([]);
  });

  it("finds a copy that nobody has a use for, unless only one run is asked about", async () => {
    const options = { profiles, model: delegating("write"), breaks: ["I16"] } as const;
    await using engine = await openEngine(options);
    const { runId } = await engine.run(run(engine));
    await leaveCopy(engine, "ffffff");
    const found = { invariant: "I16", message: expect.stringContaining("ffffff") };
    expect(await verify(engine)).toEqual([found]);
    expect(await verify(engine, { runId })).toEqual([]);
    const log = await verifyHome(engine.store, { places: null });
    expect(log.violations).toEqual([]);
  });

  it("finds a copy of what was completed, and says of which", async () => {
    const options = { profiles, model: delegating("write"), breaks: ["I16"] } as const;
    await using engine = await openEngine(options);
    const { result, runId } = await engine.run(run(engine));
    const child = result.subDelegations?.[0]?.delegationId ?? "";
    await (await engine.parts.copies()).settled();
    await leaveCopy(engine, child);
    // It could still be on its way out.
    expect(await verify(engine)).toEqual([]);
    const found = { invariant: "I16", delegationId: child, runId };
    expect(await verify(engine, { settled: true })).toMatchObject([found]);
    expect(await verify(engine, { settled: true, runId })).toMatchObject([found]);
  });

  it.runIf(process.platform === "linux")(
    "tells only what is still so when it looks again",
    async () => {
      await using engine = await openEngine({ profiles, model: delegating("write") });
      const { delegationId } = await engine.run(run(engine));
      for (const looks of [1, 2, 3]) {
        const child = await startProcess(delegationMark(engine.database)(delegationId));
        const clock = new ManualClock();
        const verifying = verify(engine, { clock });
        for (let look = 1; look < looks; look++) {
          await until("it waits", () => clock.waiting === 1);
          await clock.advance(50);
        }
        await until("it waits", () => clock.waiting === 1);
        child.kill("SIGKILL");
        await once(child, "exit");
        await clock.advance(200);
        expect(await verifying).toEqual([]);
      }
    },
  );

  it.runIf(process.platform === "linux")("finds a process of what is closed", async () => {
    const options = { profiles, model: delegating("write"), breaks: ["I16"] } as const;
    await using engine = await openEngine(options);
    const { delegationId, runId } = await engine.run(run(engine));
    const { pid } = await startProcess(delegationMark(engine.database)(delegationId));
    const message = `The delegation is closed, but its processes still run: ${pid}.`;
    expect(await verify(engine)).toEqual([{ invariant: "I16", runId, delegationId, message }]);
  });

  it("is what every test of the whole product ends with", async () => {
    const leaveSomething = async (options: EngineOptions): Promise<void> => {
      await using engine = await openEngine(options);
      await engine.run(run(engine));
      mkdirSync(join(engine.home, "worktrees", "ffffff"));
    };
    const options = { profiles, model: delegating("write") };
    await expect(leaveSomething(options)).rejects.toThrow(/I16 .*ffffff/);
    await expect(leaveSomething({ ...options, breaks: ["I16"] })).resolves.toBeUndefined();
  });
});

const { tools } = defaultConfig;
const sandbox = detectSandbox(process.env);
const server: McpServer = {
  kind: "stdio",
  command: process.execPath,
  args: [stdioServerPath, "legacy"],
  sharing: "delegation",
};

/** Runs one agent and gives what bears its id in the middle of its work, and after it. */
async function marksOf(options: EngineOptions): Promise<{ during: number; said: string }> {
  let during = 0;
  let look = (): number => 0;
  let said = "";
  const { model, ...rest } = options;
  await using engine = await openEngine({
    ...rest,
    model: (request) => {
      said += request.messages.at(-1)?.text;
      during ||= look();
      return (model as Script)(request);
    },
  });
  const { workspace, database } = engine;
  look = () => [...markedProcesses(database).values()].flat().length;
  await engine.run({ task: "go", profile: "a", workspace });
  expect(look()).toBe(0);
  return { during, said };
}

describe.runIf(process.platform === "linux")("the mark of a delegation", () => {
  it("is borne by its own MCP servers, and not by those that others share", async () => {
    const options = {
      profiles: [testProfile("a", { mcpServers: ["own"] })],
      model: (() => "done") satisfies Script,
    };
    const own = await marksOf({ ...options, config: { mcp: { servers: { own: server } } } });
    expect(own.during).toBe(1);
    const { sharing: _sharing, ...shared } = server;
    const others = await marksOf({ ...options, config: { mcp: { servers: { own: shared } } } });
    expect(others.during).toBe(0);
  });

  const reason = sandbox.isUsable ? "" : ` (skipped: ${sandbox.problem})`;
  it.runIf(sandbox.isUsable)(`is borne by commands, who do not see it${reason}`, async () => {
    const { during, said } = await marksOf({
      profiles: [testProfile("a", { tools: ["shell"] })],
      environment: { PATH: process.env["PATH"] ?? "" },
      model: ({ caller }) => {
        const input = { command: "env; sleep 300", background: true };
        return caller.turn === 1 ? { calls: [{ tool: "shell", input }] } : "done";
      },
    });
    expect(during).toBeGreaterThan(0);
    expect(said).toContain("LOGNAME=agent");
    expect(said).not.toContain(markName);
  });

  it("is borne by commands without a sandbox", async () => {
    const { during } = await marksOf({
      profiles: [testProfile("a", { tools: ["shell"] })],
      config: { tools: { ...tools, shell: { ...tools.shell, unsandboxed: true } } },
      environment: { PATH: "/nonexistent" },
      model: ({ caller }) => {
        const input = { command: "/bin/sleep 300", background: true };
        return caller.turn === 1 ? { calls: [{ tool: "shell", input }] } : "done";
      },
    });
    expect(during).toBeGreaterThan(0);
  });
});

/** Starts something that waits to be killed, and waits until it is there. */
async function startProcess(env: Readonly<Record<string, string>>) {
  const child = spawn("/bin/sh", ["-c", "echo; read line"], { env: { ...env } });
  onTestFinished(() => void child.kill("SIGKILL"));
  await once(child.stdout, "data");
  return child;
}
