import type { Authority } from "./authority.ts";
import { isDeniedOutright } from "./judge-by-rules.ts";
import type { Narrowing, Refused } from "./narrow.ts";
import type { ReceiptLine } from "./receipt.ts";
import { difference, intersect, type Selection } from "./selection.ts";

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
