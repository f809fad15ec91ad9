import { intersect, type Selection } from "../../contracts/selection.ts";
import type { ToolRule } from "../../contracts/tool-rule.ts";

/** What one part of a file says about tools. Without `tools` it only takes away. */
export interface ToolAuthority {
  readonly tools?: Selection;
  readonly rules: readonly ToolRule[];
  /** No tool of any MCP server: those have no common name that a rule could speak of. */
  readonly isWithoutServers?: boolean;
}

/**
 * What all parts say together. Rules are read with the last match deciding, so an exception of a
 * later part would lift a prohibition of an earlier one: it is left out where they meet.
 */
export function combineAuthority(parts: readonly ToolAuthority[]): ToolAuthority {
  let tools: Selection | undefined;
  const rules: ToolRule[] = [];
  for (const part of parts) {
    if (part.tools !== undefined) {
      tools = tools === undefined ? part.tools : intersect(tools, part.tools);
    }
    const earlier = [...rules];
    rules.push(
      ...part.rules.filter(
        (rule) => rule.action !== "allow" || !earlier.some((other) => meets(rule.tool, other.tool)),
      ),
    );
  }
  const effective = withoutIdle(rules);
  return tools === undefined ? { rules: effective } : { tools, rules: effective };
}

/** Without rules that cannot decide: overruled by a later one, or allowing what nothing took. */
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
