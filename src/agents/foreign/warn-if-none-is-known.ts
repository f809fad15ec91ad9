import { nearestKey } from "../documents/nearest-key.ts";
import { builtInTools, canonicalTools, knownSpellings } from "./tool-names.ts";
import type { ToolsPlace } from "./tools-place.ts";

/** Such a list allows nothing that exists: most likely it was written for other tools. */
export function warnIfNoneIsKnown(
  items: readonly string[],
  isAnyKnown: boolean,
  { field, findings, line }: ToolsPlace,
): void {
  if (isAnyKnown || items.length === 0) return;
  const near = items
    .slice(0, 20)
    .flatMap((item) => canonicalTools(nearestKey(item, knownSpellings(), 2) ?? "") ?? []);
  const hint =
    near.length > 0
      ? `did you mean ${[...new Set(near)].join(", ")}?`
      : `there are ${builtInTools.join(", ")}`;
  findings.warn(`"${field}": none of the tools it names exists here; ${hint}`, line);
}
