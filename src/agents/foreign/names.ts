import { splitTools } from "./split-tools.ts";
import type { ToolsPlace } from "./tools-place.ts";

/** A list of names in any of the shapes that lists of tools have. Empty in any way is none. */
export function readNames(value: unknown, { field, findings, line }: ToolsPlace) {
  const split = splitTools(value);
  switch (split.kind) {
    case "all":
      return "*" as const;
    case "none":
      if (split.reason !== undefined) findings.warn(`"${field}" names none: ${split.reason}`, line);
      return [];
    case "map":
      return split.entries.filter(([, isIn]) => isIn !== false).map(([name]) => name);
    case "items":
      return split.items;
  }
}
