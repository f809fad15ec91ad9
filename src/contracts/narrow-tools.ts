import type { Authority } from "./authority.ts";
import { isDeniedOutright } from "./judge-by-rules.ts";
import type { Narrowing, NarrowingRules, ProfileClaims, Refused } from "./narrow.ts";
import type { ReceiptLine } from "./receipt.ts";
import { difference, everything, intersect, type Selection } from "./selection.ts";

export interface ToolNarrowing extends Narrowing {
  readonly depth: number;
  /** The servers that were granted: their tools are known by pattern only. */
  readonly servers: readonly string[];
  /** What profile and ceiling both allow. */
  readonly within: Authority;
}

export interface HeldTools {
  readonly tools: readonly string[];
  /** Tools that it would hold if a level of delegation were left. */
  readonly beyondDepth: readonly string[];
}

/** The tools of the child, written out: names, and a pattern for each MCP server it may use. */
export function narrowTools(narrowing: ToolNarrowing, receipt: ReceiptLine[]): HeldTools | Refused {
  const { ceiling, profile, request, rules, within } = narrowing;
  const offered =
    request.tools !== undefined && rules.explicitTools === "override"
      ? ceiling.authority.tools
      : within.tools;
  const selected = request.tools === undefined ? offered : intersect(request.tools, offered);
  // The root's tools were written out when it was created; without that list nothing is granted.
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
      reason: `"${profile.name}" could only delegate (${list(beyondDepth)}), and no level of delegation is left for that. Do its work yourself, or delegate from higher up.`,
    };
  }
  if (tools.length === 0 && asked.length > 0) {
    return {
      allowed: false,
      rule: "tools",
      reason: `None of the tools asked for "${profile.name}" (${list(asked)}) can be granted: there is no such tool here, or its caller may not hand it on.`,
    };
  }
  return { tools, beyondDepth };
}

function whyDropped(dropped: readonly string[], beyondDepth: readonly string[]): string {
  return dropped.every((tool) => beyondDepth.includes(tool))
    ? "no level of delegation is left below it"
    : "not in what the profile and the caller allow";
}

/** What of `tools` is held back because no level of delegation is left, and for no other reason. */
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

/** The same list when nothing is to be changed: a thousand siblings share it. */
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
 * The tools of the granted servers: those that the profile's list names, or all of a server that
 * was granted by itself; always within the ceiling, and within what the call selects.
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

/** Delegating further is never inherited in silence: a profile or a call has to name it. */
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
