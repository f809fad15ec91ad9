import { intersect, type Selection } from "../../contracts/selection.ts";
import type { ToolRule } from "../../contracts/tool-rule.ts";

/** The tools of one part of a file. Without `tools` it only restricts. */
export interface ToolAuthority {
  readonly tools?: Selection;
  readonly rules: readonly ToolRule[];
  /** No tool of any MCP server, which no single rule can name. */
  readonly isWithoutServers?: boolean;
  /** All tools of all MCP servers, in addition to those listed. */
  readonly isWithServers?: boolean;
}

/**
 * Combines parts so that each call gets the strictest answer. In rules the last match decides, so a
 * later part must not lift an earlier restriction: its exceptions are dropped where they overlap
 * one, and its questions come before denials.
 */
export function combineAuthority(parts: readonly ToolAuthority[]): ToolAuthority {
  let tools: Selection | undefined;
  let rules: readonly ToolRule[] = [];
  for (const part of parts) {
    if (part.tools !== undefined) {
      tools = tools === undefined ? part.tools : intersect(tools, part.tools);
    }
    rules = joinRules(rules, part.rules);
  }
  const effective = withoutIdle(rules);
  const lists = parts.filter((part) => part.tools !== undefined && part.tools !== "*");
  const isWithoutServers = parts.some((part) => part.isWithoutServers === true);
  const isWithServers =
    !isWithoutServers && lists.length > 0 && lists.every((part) => part.isWithServers === true);
  const servers = { isWithoutServers, isWithServers };
  return { ...servers, rules: effective, ...(tools !== undefined && { tools }) };
}

function joinRules(earlier: readonly ToolRule[], later: readonly ToolRule[]): readonly ToolRule[] {
  let before = earlier;
  const after: ToolRule[] = [];
  for (const rule of later) {
    const met = earlier.filter((other) => meets(rule.tool, other.tool));
    const isDenied = met.some(({ action }) => action === "deny");
    if (met.length === 0 || rule.action === "deny") after.push(rule);
    else if (rule.action === "ask" && !isDenied) after.push(rule);
    else if (rule.action === "ask" && rule.match === undefined) {
      // Before the denials: calls without another rule are asked about.
      before = [
        rule,
        ...before.map((other) => (met.includes(other) ? withoutAllow(other) : other)),
      ];
    } else if (rule.action === "ask") after.push({ ...rule, action: "deny" });
  }
  return [...before, ...after];
}

function withoutAllow(rule: ToolRule): ToolRule {
  return rule.action === "allow" ? { ...rule, action: "ask" } : rule;
}

/**
 * Drops rules without effect: those that a later rule overrides, and those that allow what is not
 * restricted.
 */
function withoutIdle(rules: readonly ToolRule[]): readonly ToolRule[] {
  const lastWhole = new Map<string, number>();
  for (const [index, { match, tool }] of rules.entries()) {
    if (match === undefined) lastWhole.set(tool, index);
  }
  const standing = rules.filter(({ tool }, index) => index >= (lastWhole.get(tool) ?? 0));
  const taking: ToolRule[] = [];
  return standing.filter((rule) => {
    if (rule.action === "allow") return taking.some((other) => meets(rule.tool, other.tool));
    taking.push(rule);
    return true;
  });
}

function meets(left: string, right: string): boolean {
  if (left === right || left === "*" || right === "*") return true;
  return covers(left, right) || covers(right, left);
}

function covers(pattern: string, name: string): boolean {
  return pattern.endsWith("*") && name.startsWith(pattern.slice(0, -1));
}
