import { nearestKey } from "../../documents/nearest-key.ts";
import type { Profile } from "../../profiles/profile.ts";
import type { Toolbox } from "../../tools/toolbox.ts";

/**
 * What is wrong with a rule that forbids `shel`: it would hold for nothing, and nobody would see it.
 * A rule for what is not here at all takes nothing away, and is left alone.
 */
export function slipInRules(profile: Profile, toolbox: Toolbox): string | undefined {
  if (profile.toolRules === undefined) return undefined;
  let known = judged.get(toolbox);
  if (known === undefined) {
    known = new WeakMap();
    judged.set(toolbox, known);
  }
  let slip = known.get(profile);
  if (slip === undefined) {
    slip = findSlip(profile, toolbox) ?? "";
    known.set(profile, slip);
  }
  return slip === "" ? undefined : slip;
}

/** A profile is asked for a thousand times, and says the same each time. */
const judged = new WeakMap<Toolbox, WeakMap<Profile, string>>();

function findSlip({ name, toolRules = [] }: Profile, toolbox: Toolbox): string | undefined {
  for (const { action, tool } of toolRules) {
    const isPattern = tool.includes("*") || tool.startsWith("mcp__");
    if (action === "allow" || isPattern || toolbox.get(tool) !== undefined) continue;
    const meant = nearestKey(tool, toolbox.names, 2);
    if (meant !== undefined) {
      return `A rule of "${name}" is about "${tool}", and there is no such tool. Did you mean "${meant}"? Correct the profile: as it stands, the rule holds for nothing.`;
    }
  }
  return undefined;
}
