import { intersectAuthority } from "./authority.ts";
import type { Granted } from "./narrow.ts";
import type { ReceiptLine } from "./receipt.ts";
import { difference, includes, intersect } from "./selection.ts";

/**
 * What both grants allow: `granted` is what a profile gets with the layers of a project, `most` what
 * it gets without them. Whatever those layers say, no field comes out above `most`.
 */
export function withinGrant(granted: Granted, most: Granted): Granted {
  const both = intersectAuthority(granted.mayUse, most.mayUse);
  const isAllowed = includes(most.mayUse.models, granted.model);
  const model = isAllowed ? granted.model : most.model;
  const fallbacks = isAllowed
    ? granted.fallbacks.filter((name) => includes(most.mayUse.models, name))
    : most.fallbacks;
  const models = [model, ...fallbacks];
  const mayUse = {
    ...both,
    models: both.models === "*" ? both.models : [...new Set([...models, ...both.models])],
  };
  const depth = Math.min(granted.depth, most.depth);
  const canSpawn = depth > 0 && granted.canSpawn && most.canSpawn;
  return {
    ...granted,
    mayUse,
    mayDelegate: canSpawn
      ? intersectAuthority(granted.mayDelegate ?? granted.mayUse, most.mayDelegate ?? most.mayUse)
      : null,
    model,
    fallbacks,
    tokens: Math.min(granted.tokens, most.tokens),
    cost: lesser(granted.cost, most.cost),
    timeMs: Math.min(granted.timeMs, most.timeMs),
    depth: canSpawn ? depth : 0,
    canSpawn,
    receipt: [...granted.receipt, ...toolsLine(granted, most)],
  };
}

function lesser(one: number | null, other: number | null): number | null {
  if (one === null || other === null) return one ?? other;
  return Math.min(one, other);
}

function toolsLine({ mayUse }: Granted, most: Granted): readonly ReceiptLine[] {
  const granted = intersect(mayUse.tools, most.mayUse.tools);
  const dropped = difference(mayUse.tools, granted);
  if (dropped.length === 0) return [];
  const reason = "not in what this profile gets without the project's file";
  return [{ field: "tools", requested: mayUse.tools, granted, dropped, reason }];
}
