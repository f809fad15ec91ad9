import type { Authority } from "./authority.ts";
import { isDeniedOutright } from "./judge-by-rules.ts";
import type { Narrowing, NarrowingRules, ProfileClaims, Refused } from "./narrow.ts";
import type { ReceiptLine } from "./receipt.ts";
import { difference, everything, intersect, type Selection } from "./selection.ts";

export interface ToolNarrowing extends Narrowing {
  readonly depth: number;
  /** The granted servers. Their tools are known only as patterns. */
  readonly servers: readonly string[];
  /** The intersection of profile and ceiling. */
  readonly within: Authority;
}

export interface HeldTools {
  readonly tools: readonly string[];
  /** Tools that are withheld only because no level of delegation is left. */
  readonly beyondDepth: readonly string[];
}

/** The tools of the child: names, and a pattern for each granted MCP server. */
export function narrowTools(narrowing: ToolNarrowing, receipt: ReceiptLine[]): HeldTools | Refused {
  const { ceiling, profile, request, rules, within } = narrowing;
  const offered =
    request.tools !== undefined && rules.explicitTools === "override"
      ? ceiling.authority.tools
      : within.tools;
  const selected = request.tools === undefined ? offered : intersect(request.tools, offered);
  // The root's tools are an explicit list; without one nothing is granted.
  const concrete = selected === "*" ? [] : selected;
  const isDenied = (tool: string): boolean => isDeniedOutright(within.rules ?? [], tool);
  const tools = settle(concrete, serverTools(narrowing, selected), (tool) => {
    const hasLevel = narrowing.depth > 0 || !rules.spawningTools.has(tool);
    return hasLevel && maySpawn(narrowing, tool) && !isDenied(tool);
  });
  const beyondDepth = beyond(narrowing, concrete, isDenied);
  const asked = request.tools ?? profile.tools ?? [];
  const denied = (asked === "*" ? [] : asked).filter(isDenied);
  const dropped = [...new Set([...difference(asked, tools), ...denied])];
  if (request.tools !== undefined || dropped.length > 0) {
    receipt.push({
      field: "tools",
      requested: asked,
      granted: tools,
      ...(dropped.length > 0 ? { dropped, reason: whyDropped(dropped, beyondDepth) } : {}),
    });
  }
  if (tools.length === 0 && asked.length > 0 && beyondDepth.length > 0) {
    return {
      allowed: false,
      rule: "depth_exhausted",
      reason: `"${profile.name}" has only tools that delegate (${list(beyondDepth)}), and no level of delegation is left. Do the work yourself, or delegate from a higher level.`,
    };
  }
  if (tools.length === 0 && asked.length > 0) {
    return {
      allowed: false,
      rule: "tools",
      reason: `None of the tools asked for "${profile.name}" (${list(asked)}) can be granted: they do not exist here, or its caller may not delegate them.`,
    };
  }
  return { tools, beyondDepth };
}

function whyDropped(dropped: readonly string[], beyondDepth: readonly string[]): string {
  return dropped.every((tool) => beyondDepth.includes(tool))
    ? "no level of delegation is left below it"
    : "not allowed by the profile or by the caller";
}

/** The tools that are withheld only because no level of delegation is left. */
function beyond(
  narrowing: ToolNarrowing,
  tools: readonly string[],
  isDenied: (tool: string) => boolean,
): readonly string[] {
  if (narrowing.depth > 0) return nothing;
  const { spawningTools } = narrowing.rules;
  return tools.filter(
    (tool) => spawningTools.has(tool) && maySpawn(narrowing, tool) && !isDenied(tool),
  );
}

const nothing: readonly string[] = Object.freeze([]);

/** Returns the same list when nothing changes, because a thousand siblings share it. */
function settle(
  tools: readonly string[],
  ofServers: readonly string[],
  isLeft: (tool: string) => boolean,
): readonly string[] {
  const isWhole = tools.every((tool) => !isServerTool(tool) && isLeft(tool));
  if (isWhole && ofServers.length === 0) return tools;
  return [...tools.filter((tool) => !isServerTool(tool)), ...ofServers].filter(isLeft);
}

function isServerTool(tool: string): boolean {
  return tool.startsWith("mcp__");
}

/**
 * The tools of the granted servers: those named in the profile's list, or all tools of a server of
 * which the list names none. Always within the ceiling and the request.
 */
function serverTools(
  { ceiling, profile, request, rules, servers }: ToolNarrowing,
  selected: Selection,
): readonly string[] {
  if (servers.length === 0) return [];
  const named = profile.tools === undefined || profile.tools === "*" ? [] : profile.tools;
  const patterns = servers.flatMap((server) => {
    const pattern = rules.serverPattern(server);
    const chosen = named.filter((tool) => tool.startsWith(pattern.slice(0, -1)));
    return chosen.length > 0 ? chosen : [pattern];
  });
  const held = intersect(patterns, ceiling.authority.tools);
  if (request.tools === undefined) return held === "*" ? [] : held;
  const choice = selected === "*" ? [] : request.tools.filter(isServerTool);
  const chosen = intersect(choice, held);
  return chosen === "*" ? [] : chosen;
}

/** Tools that create children are not inherited: the profile or the request must name them. */
function maySpawn(
  { inheritsSpawning, profile, request, rules }: ToolNarrowing,
  tool: string,
): boolean {
  if (!rules.spawningTools.has(tool)) return true;
  return inheritsSpawning || profile.tools !== undefined || request.tools !== undefined;
}

function list(selection: Selection): string {
  return selection === "*" ? "all" : selection.join(", ");
}

/**
 * The MCP servers of the child. A profile that lists tools but no servers gets the servers of those
 * tools: a short list of tools must not grant every server. A profile that names an unknown server is
 * refused, because its work cannot be done.
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
      reason: `"${profile.name}" declares an MCP server named ${twin}, and a configured server has the same name: a grant could not tell them apart. Rename the server in the profile.`,
    };
  }
  const unknown = claimed.filter(
    (server) => !rules.servers.includes(server) && !ownServers.includes(server),
  );
  if (unknown.length > 0) {
    return {
      allowed: false,
      rule: "mcp_servers",
      reason: `"${profile.name}" needs the MCP server ${unknown.join(", ")}, which is not configured. Declare it under mcp.servers, or remove it from the profile.`,
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
      reason: "not allowed by the caller or by the registry entry",
    });
  }
  // Most children have none, and share this list.
  return granted === "*" || granted.length === 0 ? none : granted;
}

const none: readonly string[] = Object.freeze([]);

/** The servers that a profile requests: those it names, or those of its tools. */
export function claimedServers(
  profile: Pick<ProfileClaims, "mcp_servers" | "ownServers" | "tools">,
  rules: Pick<NarrowingRules, "serverPattern" | "servers">,
): readonly string[] {
  const asked = profile.mcp_servers ?? impliedServers(profile, rules);
  const all = asked === "*" ? [...rules.servers, ...(profile.ownServers ?? none)] : asked;
  return [...new Set(all)];
}

function impliedServers(
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
