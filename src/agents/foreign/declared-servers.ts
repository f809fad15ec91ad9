import type { McpServer } from "../../contracts/mcp-server.ts";
import { serverSlug } from "../../contracts/mcp-tool-name.ts";
import type { ToolRule } from "../../contracts/tool-rule.ts";
import type { ProfileFields } from "../profiles/profile.ts";
import type { ForeignAgent } from "./foreign-agent.ts";
import { readMcpServers } from "./mcp-servers.ts";
import { recordOf } from "./plain-data.ts";
import type { ToolAuthority } from "./tool-authority.ts";
import { serverOfTool, toServerName } from "./tool-reference.ts";

export interface DeclaredServers {
  readonly names: readonly string[];
  readonly isDeclared: boolean;
  readonly servers: Readonly<Record<string, McpServer>>;
  readonly rules: readonly ToolRule[];
  /** What was said about them and has no effect here, by the key it stands below. */
  readonly rest: Readonly<Record<string, unknown>>;
}

/** A map of servers, or a list of names in which a map can stand for one of them. */
export function readServers(
  { findings, lineOf }: ForeignAgent,
  values: readonly (readonly [string, unknown])[],
): DeclaredServers {
  const names = new Set<string>();
  const servers: Record<string, McpServer> = {};
  const rules: ToolRule[] = [];
  const rest: Record<string, unknown> = {};
  for (const [key, value] of values) {
    if (value === null) findings.warn(`"${key}" has no value; no server is given`, lineOf(key));
    for (const item of Array.isArray(value) ? value : [value]) {
      if (typeof item === "string") names.add(toServerName(item));
      else {
        const read = readMcpServers(item, key, findings);
        Object.assign(servers, read.servers);
        rules.push(...read.rules);
        if (Object.keys(read.rest).length > 0) rest[key] = { ...recordOf(rest[key]), ...read.rest };
        for (const name of Object.keys(read.servers)) names.add(name);
      }
    }
  }
  names.delete("");
  return { names: [...names], isDeclared: values.length > 0, servers, rules, rest };
}

/**
 * A list of tools is the whole list, and says of which servers: one that it does not name is not
 * brought along, since all tools of a server that is given by itself could be called.
 */
export function serversOf(
  { isWithServers, tools }: ToolAuthority,
  declared: DeclaredServers,
  { findings }: ForeignAgent,
): Pick<ProfileFields, "mcpServers" | "servers"> {
  if (isWithServers === true) {
    const { servers } = declared;
    return { mcpServers: "*", ...(Object.keys(servers).length > 0 && { servers }) };
  }
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
