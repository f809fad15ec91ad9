import { intersect, isSubset, type Selection } from "./selection.ts";
import type { RuleSet } from "./tool-rule.ts";
import { intersectRoots, rootsWithin } from "./write-roots.ts";

/**
 * The rights that an agent can hold or delegate; amounts are not part of it. `mayUse` and
 * `mayDelegate` share this type, so that a new right cannot be forgotten in one of them.
 */
export interface Authority {
  readonly tools: Selection;
  readonly skills: Selection;
  readonly mcp_servers: Selection;
  /** `provider/model` names. */
  readonly models: Selection;
  readonly scopes: Selection;
  /** Absolute folders below which files may be written. */
  readonly write_roots: readonly string[];
  /** Hosts that may be reached. */
  readonly network: Selection;
  /** The egress allowlist: hosts and tools that need no approval even when tainted; absent: none. */
  readonly ways_out?: Selection;
  /** Rules that every call must pass in addition; absent: none. */
  readonly rules?: readonly RuleSet[];
}

export function intersectAuthority(left: Authority, right: Authority): Authority {
  const rules = joinRules(left.rules, right.rules);
  const open = intersect(left.ways_out ?? nothing, right.ways_out ?? nothing);
  const both: Authority = {
    tools: intersect(left.tools, right.tools),
    skills: intersect(left.skills, right.skills),
    mcp_servers: intersect(left.mcp_servers, right.mcp_servers),
    models: intersect(left.models, right.models),
    scopes: intersect(left.scopes, right.scopes),
    write_roots: intersectRoots(left.write_roots, right.write_roots),
    network: intersect(left.network, right.network),
    ...(open.length > 0 && { ways_out: open }),
  };
  return rules.length === 0 ? both : { ...both, rules };
}

/** More rules allow less: a call must pass every set of both lists. */
function joinRules(
  left: readonly RuleSet[] = none,
  right: readonly RuleSet[] = none,
): readonly RuleSet[] {
  if (right.length === 0 || left === right) return left;
  const known = new Set(left.map((rules) => JSON.stringify(rules)));
  const added = right.filter((rules) => !known.has(JSON.stringify(rules)));
  return added.length === 0 ? left : [...left, ...added];
}

const none: readonly RuleSet[] = Object.freeze([]);
const nothing: Selection = Object.freeze([]);

function keepsRules(inner: readonly RuleSet[] = none, outer: readonly RuleSet[] = none): boolean {
  if (inner === outer || outer.length === 0) return true;
  const kept = new Set(inner.map((rules) => JSON.stringify(rules)));
  return outer.every((rules) => kept.has(JSON.stringify(rules)));
}

/** The fields in which `inner` holds more than `outer`; empty: `inner` is contained in `outer`. */
export function authorityExcess(inner: Authority, outer: Authority): readonly (keyof Authority)[] {
  const excess: (keyof Authority)[] = [];
  if (!isSubset(inner.tools, outer.tools)) excess.push("tools");
  if (!isSubset(inner.skills, outer.skills)) excess.push("skills");
  if (!isSubset(inner.mcp_servers, outer.mcp_servers)) excess.push("mcp_servers");
  if (!isSubset(inner.models, outer.models)) excess.push("models");
  if (!isSubset(inner.scopes, outer.scopes)) excess.push("scopes");
  if (!rootsWithin(inner.write_roots, outer.write_roots)) excess.push("write_roots");
  if (!isSubset(inner.network, outer.network)) excess.push("network");
  if (!isSubset(inner.ways_out ?? nothing, outer.ways_out ?? nothing)) excess.push("ways_out");
  if (!keepsRules(inner.rules, outer.rules)) excess.push("rules");
  return excess;
}
