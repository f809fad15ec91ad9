import { isDeepStrictEqual } from "node:util";
import type { ToolRule } from "../../contracts/tool-rule.ts";
import { narrowLayer } from "../profiles/narrow-layer.ts";
import type { ProfileFields } from "../profiles/profile.ts";
import { combineAuthority } from "./tool-authority.ts";

/** The fields that say what an agent may do. Texts and models are not among them. */
const restricting = [
  ...(["tools", "toolRules", "skills", "mcpServers", "servers", "scopes", "network"] as const),
  ...(["waysOut", "mayDelegate", "workspace", "limits", "exit", "hidden", "disabled"] as const),
];

/**
 * Chooses one of several agents with the same name: the one that allows no more than each other one.
 * Without such an agent, the first is used with the restrictions of all of them.
 */
export function strictestAgent<Agent extends { readonly fields: ProfileFields }>(
  agents: readonly [Agent, ...Agent[]],
): Agent {
  const [first, ...others] = agents;
  const strictest = agents.find((agent) =>
    agents.every(({ fields }) => isWithin(agent.fields, fields)),
  );
  if (strictest !== undefined) return strictest;
  const fields = others.reduce((all, other) => restrict(all, other.fields), first.fields);
  return { ...first, fields };
}

function isWithin(inner: ProfileFields, outer: ProfileFields): boolean {
  const restricted = restrict(inner, outer);
  return restricting.every((key) => {
    const [one, other] = [inner[key], restricted[key]];
    if (key === "toolRules") return isSameRules(inner.toolRules ?? [], restricted.toolRules ?? []);
    return isDeepStrictEqual(toComparable(one), toComparable(other));
  });
}

/** The order of names in a list has no meaning. */
function toComparable(value: unknown): unknown {
  return Array.isArray(value) ? [...value].sort() : value;
}

function restrict(fields: ProfileFields, other: ProfileFields): ProfileFields {
  const less = narrowLayer(fields, other).fields;
  const rules = joinRules(fields.toolRules ?? [], other.toolRules ?? []);
  const joined: Record<string, unknown> = { ...fields };
  for (const key of restricting) {
    const [before, said] = [fields[key], less[key]];
    if (said === undefined) continue;
    const isMap = typeof said === "object" && !Array.isArray(said) && typeof before === "object";
    joined[key] = isMap ? { ...before, ...said } : said;
  }
  return { ...joined, ...(rules.length > 0 && { toolRules: rules }) };
}

function joinRules(rules: readonly ToolRule[], others: readonly ToolRule[]): readonly ToolRule[] {
  if (others.length === 0 || isSameRules(rules, others)) return rules;
  return combineAuthority([{ rules }, { rules: others }]).rules;
}

/** Where nothing is allowed, neither the order of rules nor a repetition matters. */
function isSameRules(rules: readonly ToolRule[], others: readonly ToolRule[]): boolean {
  const isOrdered = [...rules, ...others].some(({ action }) => action !== "deny");
  if (isOrdered) return isDeepStrictEqual(rules, others);
  const text = (list: readonly ToolRule[]) =>
    new Set(list.map(({ match, tool }) => JSON.stringify([tool, match])));
  return isDeepStrictEqual(text(rules), text(others));
}
