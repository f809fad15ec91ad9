import { existsSync, readFileSync, writeFileSync } from "node:fs";
import type { AddressInfo } from "node:net";
import { createServer } from "node:net";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { ofType, testProfile } from "../../testing/engine-fixture.ts";
import { realKeys } from "../../testing/mock-provider.test-support.ts";
import { countProcesses } from "../../tools/shell/shell-fixture.test-support.ts";
import { machine, openPrograms, programProfile, whySkipped } from "./program-scene.test-support.ts";

describe.skipIf(!machine.isUsable)(`a hostile agent program${whySkipped}`, () => {
  it("writes nowhere but in its copy, and sees no key", async () => {
    const program = programProfile(async (agent) => {
      const [, outside = "", folder = ""] = /outside (\S+) (\S+)/.exec(agent.prompt) ?? [];
      agent.shell(`echo owned > ${outside}; echo owned > ${folder}/new; echo owned > /usr/new`);
      agent.shell(`ln -s ${outside} link; echo owned > link; rm link`);
      agent.say(`${agent.shell("env; cat /proc/*/environ")}${agent.shell(`cat ${outside}`)}`);
    });
    await using scene = await openPrograms([program]);
    const { engine } = scene;
    const outside = join(engine.home, "..", "outside.txt");
    writeFileSync(outside, "SECRET-OUTSIDE\n");
    const { result } = await scene.run({ task: `outside ${outside} ${engine.workspace}` });
    expect(result.status).toBe("completed");
    expect(readFileSync(outside, "utf8")).toBe("SECRET-OUTSIDE\n");
    expect(existsSync(join(engine.workspace, "new"))).toBe(false);
    for (const secret of ["SECRET-OUTSIDE", ...Object.values(realKeys)]) {
      expect(result.result).not.toContain(secret);
    }
  });

  it("opens no connection", async () => {
    let connections = 0;
    const server = createServer((socket) => {
      connections++;
      socket.destroy();
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    onTestFinished(() => void server.close());
    const program = programProfile(async (agent) => {
      const [, port] = /port (\d+)/.exec(agent.prompt) ?? [];
      const answer = await fetch(`http://127.0.0.1:${port}`).catch((error: Error) => error.message);
      agent.say(`${answer} ${agent.shell(`exec 3<>/dev/tcp/127.0.0.1/${port}`)}`);
    });
    await using scene = await openPrograms([program]);
    const { port } = server.address() as AddressInfo;
    expect((await scene.run({ task: `port ${port}` })).result.result).toContain("fetch failed");
    expect(connections).toBe(0);
  });

  it("gets files and commands from us only as its contract says", async () => {
    const program = programProfile(async (agent) => {
      const tried: string[] = [];
      const ask = async (method: string, params: object): Promise<Record<string, unknown>> => {
        try {
          const answer = await agent.ask(method, params);
          tried.push(JSON.stringify(answer));
          return answer;
        } catch (error) {
          tried.push(`refused: ${(error as Error).message.slice(0, 40)}`);
          return {};
        }
      };
      for (const path of ["/etc/shadow", "../../mandate.db", "/proc/self/environ", "a.txt"]) {
        await ask("fs/read_text_file", { path });
      }
      for (const path of ["/tmp/mandate-was-here", "../new", ".git/hooks/post-commit", "new.txt"]) {
        await ask("fs/write_text_file", { path, content: "owned\n" });
      }
      await ask("terminal/create", { command: "true", cwd: "/etc" });
      const { terminalId } = await ask("terminal/create", {
        command: ": endless-terminal; while :; do sleep 0.1; done",
      });
      await ask("terminal/output", { terminalId });
      await ask("terminal/kill", { terminalId });
      await ask("terminal/wait_for_exit", { terminalId });
      await ask("terminal/release", { terminalId });
      await ask("terminal/output", { terminalId });
      agent.say(tried.join("\n"));
    });
    await using scene = await openPrograms([program]);
    const { engine } = scene;
    const { result } = await scene.run();
    const lines = result.result.split("\n");
    expect(lines.slice(0, 8).map((line) => line.startsWith("refused"))).toEqual([
      ...[true, true, true, false],
      ...[true, true, true, false],
    ]);
    expect(existsSync("/tmp/mandate-was-here")).toBe(false);
    expect(readFileSync(join(engine.workspace, "new.txt"), "utf8")).toBe("owned\n");
    await expect.poll(() => countProcesses("endless-terminal")).toBe(0);
    expect(lines.at(-1)).toMatch(/^refused/);
  });

  it("calls no tool that was not granted, and nothing with another token", async () => {
    const child = testProfile("child", { tools: [] });
    const program = programProfile(
      async (agent) => {
        const tool = await agent.tool("delegate_task", { profile: "child", task: "x" });
        const ask = await agent.tool("no_such_tool");
        const wrong = await agent.mcp(
          { id: 1, method: "tools/list" },
          { authorization: "Bearer x" },
        );
        const none = await agent.mcp({ id: 1, method: "tools/list" });
        const other = await agent.mcp({ id: 1, method: "tools/list" }, { "mcp-session-id": "x" });
        const model = await agent.model({}, "another-token");
        const codes = [wrong, none, other].map(({ status }) => status);
        agent.say(JSON.stringify([tool.isError, ask.isError, ...codes, model.status]));
      },
      { tools: ["read_file", "shell"] },
    );
    await using scene = await openPrograms([program, child]);
    const { events, result } = await scene.run();
    expect(JSON.parse(result.result)).toEqual([true, true, 401, 400, 404, 401]);
    expect(ofType(events, "agent.tool_denied").length).toBeGreaterThan(0);
    expect(scene.provider.asked).toEqual([]);
  });

  it("opens a bounded number of sessions", async () => {
    const program = programProfile(async (agent) => {
      const statuses = new Set<number>();
      const params = {
        ...{ protocolVersion: "2025-06-18", capabilities: {} },
        clientInfo: { name: "x", version: "1" },
      };
      for (let at = 0; at < 100; at++) {
        const opened = await agent.mcp({ id: 1, method: "initialize", params });
        await opened.text();
        statuses.add(opened.status);
      }
      agent.say(JSON.stringify([...statuses]));
    });
    await using scene = await openPrograms([program]);
    expect(JSON.parse((await scene.run()).result.result)).toEqual([200, 503]);
  });

  it("is answered by a granted model when it names another, and pays what the provider says", async () => {
    const program = programProfile(async (agent) => {
      agent.update({ sessionUpdate: "usage_update", used: 0, size: 0, cost: { amount: -5 } });
      const { status } = await agent.model({ model: "claude-opus-4-5" });
      const hosted = await agent.model({
        tools: [{ type: "web_search_20250305", name: "web_search" }],
      });
      agent.say(`${status} ${hosted.status}`);
    });
    await using scene = await openPrograms([program]);
    const { events, result } = await scene.run();
    expect(result.result).toBe("200 400");
    expect(scene.provider.billed.every(({ body }) => body["model"] === "claude-sonnet-4-5")).toBe(
      true,
    );
    expect(ofType(events, "agent.request_refused").length).toBeGreaterThan(0);
  });

  it("that asks with many at once never spends more than its cap", async () => {
    const program = programProfile(async (agent) => {
      const one = async (): Promise<void> => {
        for (let status = 200; status === 200; ) ({ status } = await agent.model());
      };
      await Promise.all(Array.from({ length: 25 }, one));
      agent.say("All were refused.");
    });
    await using scene = await openPrograms([program]);
    scene.provider.reported = { prompt: 300, completion: 900 };
    const { result } = await scene.run({ maxCost: 0.1 });
    const spent = scene.provider.billedTokens.reduce(
      (all, { completion, prompt }) => all + (prompt * 3 + completion * 15) / 1_000_000,
      0,
    );
    expect(result.closeReason).toBe("budget_exhausted");
    expect(scene.provider.billed.length).toBeGreaterThan(2);
    expect(spent).toBeLessThanOrEqual(0.1);
  });
});
