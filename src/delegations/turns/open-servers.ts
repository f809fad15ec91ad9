import { isDeniedOutright } from "../../contracts/judge-by-rules.ts";
import { isSameServer, type McpServer } from "../../contracts/mcp-server.ts";
import { includes } from "../../contracts/selection.ts";
import { describeReminder } from "../../events/cause.ts";
import { messageOf } from "../../ports/message-of.ts";
import type { Tool } from "../../tools/tool.ts";
import { describeTool, type OfferedTools } from "../../tools/toolbox.ts";
import { Stopped } from "../ends/ending.ts";
import { event, type LiveDelegation } from "../live-delegation.ts";

/**
 * Asks the agent's MCP servers for their tools, before its first turn and not earlier. A server that
 * cannot be had is told to the agent, which goes on with what there is.
 */
export async function openServers(agent: LiveDelegation): Promise<void> {
  const { mcp_servers: servers } = agent.contract.permissions;
  const names = servers === "*" ? [] : servers;
  const opened = await Promise.all(names.map((server) => open(agent, server)));
  agent.process.holdsProcesses = true;
  agent.work.throwIfStopped();
  const granted = opened.flat().filter((tool) => isGranted(agent, tool));
  agent.process.tools.ofServers = new Map(granted.map((tool) => [tool.name, tool]));
}

export function hasServers({ contract }: LiveDelegation): boolean {
  return contract.permissions.mcp_servers.length > 0;
}

async function open(agent: LiveDelegation, name: string): Promise<readonly Tool[]> {
  const { parts } = agent.run;
  const { server, isOwn } = declarationOf(agent, name);
  try {
    if (server === undefined) {
      throw new Error(`The MCP server "${name}" is not configured any more.`);
    }
    if (server.disabled === true) return [];
    const scope = { delegationId: agent.id, workspace: agent.workspace?.root ?? null, isOwn };
    return await agent.work.interruptible(parts.servers.open(name, server, scope));
  } catch (error) {
    if (error instanceof Stopped) throw error;
    const cause = { code: "server_unavailable", server: name, text: messageOf(error) } as const;
    const message = describeReminder(cause);
    const said = { from: "mcp", severity: "warn", cause, message } as const;
    agent.record(event(agent, "agent.interjected", said));
    return [];
  }
}

interface Declaration {
  readonly server: McpServer | undefined;
  /** The person's own configuration says exactly this, or their own profile does. */
  readonly isOwn: boolean;
}

/** As it was when the contract was made, when the profile brought it; else as it is configured. */
function declarationOf({ contract, run }: LiveDelegation, name: string): Declaration {
  const { servers = {} } = contract;
  const configured = run.parts.servers.declared(name);
  const server = Object.hasOwn(servers, name) ? servers[name] : undefined;
  if (server === undefined) return { server: configured, isOwn: true };
  const isMarked = server.kind === "stdio" && server.isOwn === true;
  return { server, isOwn: isMarked || isSameServer(server, configured) };
}

function isGranted({ contract }: LiveDelegation, { name }: Tool): boolean {
  const { allowed_tools: tools, rules = [] } = contract.permissions;
  return includes(tools, name) && !isDeniedOutright(rules, name);
}

/** What a model is shown: the runtime's tools, and those of the agent's servers. */
export function withServerTools(
  offered: OfferedTools,
  tools: ReadonlyMap<string, Tool> | null,
): OfferedTools {
  if (tools === null || tools.size === 0) return offered;
  const described = [...tools.values()].map(describeTool);
  return {
    descriptions: [...offered.descriptions, ...described.map(({ description }) => description)],
    tokens: described.reduce((sum, { tokens }) => sum + tokens, offered.tokens),
  };
}
