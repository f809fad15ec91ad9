import type { McpServer } from "../../contracts/mcp-server.ts";
import { serverSlug } from "../../contracts/mcp-tool-name.ts";
import type { Selection } from "../../contracts/selection.ts";
import type { ToolRule } from "../../contracts/tool-rule.ts";
import type { ProfileFields } from "../profile.ts";
import type { ForeignAgent } from "./foreign-agent.ts";
import { readMcpServers } from "./mcp-servers.ts";
import { serverOfTool, toServerName } from "./tool-reference.ts";

export interface DeclaredServers {
  readonly names: readonly string[];
  readonly isDeclared: boolean;
  readonly servers: Readonly<Record<string, McpServer>>;
  readonly rules: readonly ToolRule[];
}

/** A map of servers, or a list of names in which a map can stand for one of them. */
export function readServers(
  { findings, lineOf }: ForeignAgent,
  values: readonly (readonly [string, unknown])[],
): DeclaredServers {
  const names = new Set<string>();
  const servers: Record<string, McpServer> = {};
  const rules: ToolRule[] = [];
  for (const [key, value] of values) {
    if (value === null) findings.warn(`"${key}" has no value; no server is given`, lineOf(key));
    for (const item of Array.isArray(value) ? value : [value]) {
      if (typeof item === "string") names.add(toServerName(item));
      else {
        const read = readMcpServers(item, key, findings);
        Object.assign(servers, read.servers);
        rules.push(...read.rules);
        for (const name of Object.keys(read.servers)) names.add(name);
      }
    }
  }
  names.delete("");
  return { names: [...names], isDeclared: values.length > 0, servers, rules };
}

/**
 * A list of tools is the whole list, and says of which servers: one that it does not name is not
 * brought along, since all tools of a server that is given by itself could be called.
 */
export function serversOf(
  tools: Selection | undefined,
  declared: DeclaredServers,
  { findings }: ForeignAgent,
): Pick<ProfileFields, "mcpServers" | "servers"> {
  const isListed = tools !== undefined && tools !== "*";
  const named = new Set(isListed ? tools.flatMap((tool) => serverOfTool(tool) ?? []) : []);
  const left = declared.names.filter((name) => isListed && !named.has(serverSlug(name)));
  for (const name of left) {
    findings.lose("mcpServers", "narrowed", `${name}: the list of tools names none of its tools`);
  }
  const brought = Object.entries(declared.servers).filter(([name]) => !left.includes(name));
  const isSaid = declared.isDeclared && (!isListed || declared.names.length === 0);
  return {
    ...(brought.length > 0 && { servers: Object.fromEntries(brought) }),
    ...(isSaid && { mcpServers: declared.names }),
  };
}
