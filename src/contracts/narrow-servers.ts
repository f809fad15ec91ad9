import type { Narrowing, NarrowingRules, ProfileClaims, Refused } from "./narrow.ts";
import type { ReceiptLine } from "./receipt.ts";
import { difference, everything, intersect, type Selection } from "./selection.ts";

/**
 * The MCP servers of the child. A profile that lists tools and says nothing of servers has those
 * that its list speaks of: a short list of tools must not bring every server along. One that names
 * an unknown server is refused, since what it was meant to do cannot be done.
 */
export function narrowServers(
  { ceiling, entry, profile, rules }: Narrowing,
  receipt: ReceiptLine[],
): readonly string[] | Refused {
  const { ownServers = none } = profile;
  const claimed = claimedServers(profile, rules);
  const twin = ownServers.find((own) =>
    rules.servers.some((server) => rules.serverPattern(server) === rules.serverPattern(own)),
  );
  if (twin !== undefined) {
    return {
      allowed: false,
      rule: "mcp_servers",
      reason: `"${profile.name}" brings an MCP server of its own called ${twin}, which is the name of a configured one: a grant for the one must not be taken for the other. Rename it.`,
    };
  }
  const unknown = claimed.filter(
    (server) => !rules.servers.includes(server) && !ownServers.includes(server),
  );
  if (unknown.length > 0) {
    return {
      allowed: false,
      rule: "mcp_servers",
      reason: `"${profile.name}" needs the MCP server ${unknown.join(", ")}, which is not configured. Declare it under mcp.servers, or take it out of the profile.`,
    };
  }
  const held = intersect(claimed, ceiling.authority.mcp_servers);
  const allowed = entry?.allowedMcpServers ? intersect(held, entry.allowedMcpServers) : held;
  const granted = entry ? intersect(entry.defaultMcpServers ?? none, allowed) : allowed;
  const wanted = profile.mcp_servers ?? ownServers;
  const dropped = difference(wanted, granted);
  if (dropped.length > 0) {
    receipt.push({
      field: "mcp_servers",
      requested: wanted,
      granted,
      dropped,
      reason: "not in what the caller may hand on or the registry entry gives",
    });
  }
  // Most have none, and a thousand siblings share the one list that says so.
  return granted === "*" || granted.length === 0 ? none : granted;
}

const none: readonly string[] = Object.freeze([]);

/** The servers that a profile asks for: those it names, or those that follow from its tools. */
export function claimedServers(
  profile: Pick<ProfileClaims, "mcp_servers" | "ownServers" | "tools">,
  rules: Pick<NarrowingRules, "serverPattern" | "servers">,
): readonly string[] {
  const asked = profile.mcp_servers ?? unsaidServers(profile, rules);
  const all = asked === "*" ? [...rules.servers, ...(profile.ownServers ?? none)] : asked;
  return [...new Set(all)];
}

function unsaidServers(
  { ownServers = none, tools }: Pick<ProfileClaims, "ownServers" | "tools">,
  { serverPattern, servers }: Pick<NarrowingRules, "serverPattern" | "servers">,
): Selection {
  if (tools === undefined || tools === "*") return everything;
  const named = servers.filter((server) => {
    const prefix = serverPattern(server).slice(0, -1);
    return tools.some((tool) => tool.startsWith(prefix));
  });
  return [...ownServers, ...named];
}
