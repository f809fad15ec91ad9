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

/** The tools of the child, written out: names, and a pattern for each MCP server it may use. */
export function narrowTools(
  narrowing: ToolNarrowing,
  receipt: ReceiptLine[],
): readonly string[] | Refused {
  const { ceiling, profile, request, rules, within } = narrowing;
  const offered =
    request.tools !== undefined && rules.explicitTools === "override"
      ? ceiling.authority.tools
      : within.tools;
  const selected = request.tools === undefined ? offered : intersect(request.tools, offered);
  // The root's tools were written out when it was created; without that list nothing is granted.
  const concrete = selected === "*" ? [] : selected;
  const tools = settle(concrete, serverTools(narrowing, selected), (tool) => {
    return maySpawn(narrowing, tool) && !isDeniedOutright(within.rules ?? [], tool);
  });
  const asked = request.tools ?? profile.tools ?? [];
  const denied = (asked === "*" ? [] : asked).filter((tool) =>
    isDeniedOutright(within.rules ?? [], tool),
  );
  const dropped = [...new Set([...difference(asked, tools), ...denied])];
  if (request.tools !== undefined || dropped.length > 0) {
    receipt.push({
      field: "tools",
      requested: asked,
      granted: tools,
      ...(dropped.length > 0
        ? { dropped, reason: "not in what the profile and the caller allow" }
        : {}),
    });
  }
  if (tools.length === 0 && asked.length > 0) {
    return {
      allowed: false,
      rule: "tools",
      reason: `None of the tools asked for "${profile.name}" (${list(asked)}) can be granted: there is no such tool here, or its caller may not hand it on.`,
    };
  }
  return tools;
}

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
  { depth, inheritsSpawning, profile, request, rules }: ToolNarrowing,
  tool: string,
): boolean {
  if (!rules.spawningTools.has(tool)) return true;
  const isNamed = profile.tools !== undefined || request.tools !== undefined;
  return depth > 0 && (isNamed || inheritsSpawning);
}

function list(selection: Selection): string {
  return selection === "*" ? "all" : selection.join(", ");
}
