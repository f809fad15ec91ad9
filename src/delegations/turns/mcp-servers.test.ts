import { describe, expect, it } from "vitest";
import type { McpServer } from "../../contracts/mcp-server.ts";
import type { Script } from "../../models/scripted/scripted-model.ts";
import { ofType, openEngine, recording, testProfile } from "../../testing/engine-fixture.ts";
import { stdioServerPath } from "../../tools/mcp/stdio-server.test-support.ts";

const example = (more: Partial<McpServer> = {}): McpServer =>
  ({
    kind: "stdio",
    command: process.execPath,
    args: [stdioServerPath, "legacy"],
    ...more,
  }) as McpServer;

const configured = { mcp: { servers: { docs: example(), web: example() } } };

/** Makes the given calls in one turn each, at every depth. */
function calling(...calls: readonly { tool: string; input: object }[]): Script {
  return ({ caller }) => {
    const call = calls[caller.turn - 1];
    return call === undefined ? "done" : { calls: [call] };
  };
}

const echo = (server: string) => ({ tool: `mcp__${server}__echo`, input: { text: "hi" } });

describe("the tools of an MCP server", () => {
  it("are offered and called under its name, through the same gate", async () => {
    const { seen, model } = recording(calling(echo("docs"), echo("web")));
    const profiles = [testProfile("a", { mcpServers: ["docs"], tools: ["read_file"] })];
    await using mandate = await openEngine({ profiles, model, config: configured });
    const { events } = await mandate.run({ task: "go", profile: "a" });
    const offered = seen[0]?.tools.map(({ name }) => name) ?? [];
    expect(offered).toContain("mcp__docs__echo");
    expect(offered.filter((name) => name.startsWith("mcp__web"))).toEqual([]);
    expect(ofType(events, "agent.tool_completed").map((each) => each.payload)).toMatchObject([
      { tool: "mcp__docs__echo", output: "hi" },
    ]);
    expect(ofType(events, "agent.tool_denied")[0]?.payload).toMatchObject({
      tool: "mcp__web__echo",
      rule: "unknown_tool",
    });
  });

  it("are only those that the profile's list names, and others are refused at the call", async () => {
    const { seen, model } = recording(
      calling(echo("docs"), { tool: "mcp__docs__where", input: {} }),
    );
    const profiles = [testProfile("a", { tools: ["mcp__docs__echo"] })];
    await using mandate = await openEngine({ profiles, model, config: configured });
    const { events } = await mandate.run({ task: "go", profile: "a" });
    expect(seen[0]?.tools.map(({ name }) => name)).toEqual(["mcp__docs__echo"]);
    expect(ofType(events, "agent.tool_completed")).toHaveLength(1);
    expect(ofType(events, "agent.tool_denied")).toHaveLength(1);
  });

  it("can be denied by rule, one by one", async () => {
    const profiles = [
      testProfile("a", {
        mcpServers: ["docs"],
        tools: [],
        toolRules: [{ tool: "mcp__docs__echo", action: "deny" }],
      }),
    ];
    const { seen, model } = recording(calling(echo("docs")));
    await using mandate = await openEngine({ profiles, model, config: configured });
    const { events } = await mandate.run({ task: "go", profile: "a" });
    expect(seen[0]?.tools.map(({ name }) => name)).not.toContain("mcp__docs__echo");
    expect(ofType(events, "agent.tool_completed")).toEqual([]);
  });

  it("reach a child only as far as its caller may hand them on", async () => {
    const profiles = [
      testProfile("lead", { tools: ["delegate_task"], mcpServers: ["docs"] }),
      testProfile("child", { tools: [], mcpServers: ["docs", "web"] }),
    ];
    const { seen, model } = recording(({ caller }) => {
      if (caller.turn > 1) return "done";
      if (caller.depth > 0) return { calls: [echo("docs")] };
      return { calls: [{ tool: "delegate_task", input: { profile: "child", task: "x" } }] };
    });
    await using mandate = await openEngine({ profiles, model, config: configured });
    const { events } = await mandate.run({ task: "go", profile: "lead" });
    const child = seen.find(({ caller }) => caller.depth === 1);
    const servers = new Set(child?.tools.map(({ name }) => name.split("__")[1]));
    expect([...servers]).toEqual(["docs"]);
    expect(ofType(events, "agent.subagent_created")[1]?.payload.receipt).toContainEqual(
      expect.objectContaining({ field: "mcp_servers", granted: ["docs"], dropped: ["web"] }),
    );
  });

  it("are given by the registry's defaults, and restricted by what it allows", async () => {
    const profiles = [
      testProfile("lead", {
        tools: ["delegate_to_agent"],
        mayDelegate: { tools: ["mcp__docs__*", "mcp__web__*"], mcpServers: "*" },
      }),
      testProfile("child", {}),
    ];
    const { seen, model } = recording(({ caller }) => {
      if (caller.turn > 1 || caller.depth > 0) return "done";
      const input = { agentId: "@child", task_instructions: "x" };
      return { calls: [{ tool: "delegate_to_agent", input }] };
    });
    await using mandate = await openEngine({ profiles, model, config: configured });
    const entry = { agentId: "@child", profileId: "child", description: "d" };
    await mandate.control.plane.register(
      { ...entry, defaultMcpServers: ["mcp:docs", "mcp:web"], allowedMcpServers: ["mcp:web"] },
      { id: "local", role: "operator" },
    );
    await mandate.run({ task: "go", profile: "lead" });
    const child = seen.find(({ caller }) => caller.depth === 1);
    const servers = new Set(child?.tools.map(({ name }) => name.split("__")[1]));
    expect([...servers]).toEqual(["web"]);
  });
});

describe("an MCP server", () => {
  it("that a profile brings is frozen in the contract, and started for that agent", async () => {
    const profiles = [testProfile("a", { tools: [], servers: { mine: example() } })];
    await using mandate = await openEngine({ profiles, model: calling(echo("mine")) });
    const { events, delegationId } = await mandate.run({ task: "go", profile: "a" });
    expect(ofType(events, "agent.tool_completed")).toHaveLength(1);
    const contract = await mandate.store.readContract(delegationId);
    expect(contract.servers).toEqual({ mine: { ...example(), isOwn: true } });
  });

  it("that cannot be started is told to the agent, which goes on without it", async () => {
    const { seen, model } = recording(() => "done");
    const profiles = [
      testProfile("a", { tools: [], servers: { gone: example({ args: ["-e", "0"] }) } }),
    ];
    await using mandate = await openEngine({ profiles, model });
    const { result } = await mandate.run({ task: "go", profile: "a" });
    expect(result.status).toBe("completed");
    expect(seen[0]?.messages.at(-1)?.text).toMatch(/MCP server "gone".*not available to you/s);
  });

  it("that dies in the middle fails the call, not the process", async () => {
    const profiles = [testProfile("a", { tools: [], mcpServers: ["docs"] })];
    const script = calling({ tool: "mcp__docs__die", input: {} }, echo("docs"));
    await using mandate = await openEngine({ profiles, model: script, config: configured });
    const { events, result } = await mandate.run({ task: "go", profile: "a" });
    expect(result.status).toBe("completed");
    const ends = events.filter(({ type }) => /tool_(failed|completed)$/.test(type));
    expect(ends.map(({ type }) => type)).toEqual(["agent.tool_failed", "agent.tool_completed"]);
  });

  it("that nobody configured is a refusal that names it, before anything is created", async () => {
    const profiles = [testProfile("a", { mcpServers: ["ghost"] })];
    await using mandate = await openEngine({ profiles, model: () => "done" });
    await expect(mandate.run({ task: "go", profile: "a" })).rejects.toThrow(/MCP server ghost/);
  });

  it("is not started for those who have no use for it", async () => {
    const profiles = [testProfile("a", { tools: ["read_file"] })];
    const broken = { mcp: { servers: { docs: example({ command: "/nonexistent" }) } } };
    const { seen, model } = recording(() => "done");
    await using mandate = await openEngine({ profiles, model, config: broken });
    await mandate.run({ task: "go", profile: "a" });
    expect(seen[0]?.messages).toHaveLength(1);
  });
});
