import type { ToolRule } from "../../contracts/tool-rule.ts";
import { splitTools } from "./split-tools.ts";
import type { ToolAuthority } from "./tool-authority.ts";
import { readToolMap } from "./tool-map.ts";
import { toMatches } from "./tool-patterns.ts";
import { readToolReference } from "./tool-reference.ts";
import { shorten, type ToolsPlace } from "./tools-place.ts";
import { warnIfNoneIsKnown } from "./warn-if-none-is-known.ts";

/** A list of what may be used: text, list, map, `*` or true. Empty in any way is none. */
export function readAllowedTools(value: unknown, place: ToolsPlace): ToolAuthority {
  const { field, findings, line } = place;
  const split = splitTools(value);
  switch (split.kind) {
    case "all":
      return { tools: "*", rules: [] };
    case "none":
      if (split.reason !== undefined) {
        findings.warn(`"${field}" allows no tool: ${split.reason}. Write * for all of them`, line);
      }
      return { tools: [], rules: [] };
    case "map":
      return readToolMap(split.entries, place);
    case "items": {
      if (split.dropped > 0) {
        findings.lose(field, "narrowed", `${split.dropped} items are not names of tools`);
      }
      return readItems(split.items, place);
    }
  }
}

function readItems(items: readonly string[], place: ToolsPlace): ToolAuthority {
  const { field, findings, servers } = place;
  const whole = new Set<string>();
  const parts = new Map<string, string[]>();
  let all = false;
  let isWithServers = false;
  let isAnyKnown = false;
  for (const item of items) {
    const reference = readToolReference(item, servers);
    if (reference.kind === "all") all = true;
    else if (reference.kind === "servers") isWithServers = true;
    else if (reference.kind === "unusable") {
      findings.lose(field, "narrowed", `${shorten(item)} is not allowed: ${reference.reason}`);
    } else {
      if (reference.isKnown) isAnyKnown = true;
      else findings.lose(field, "unknown", shorten(item));
      for (const name of reference.names) {
        if (reference.pattern === undefined) {
          whole.add(name);
          continue;
        }
        const matches = toMatches(name, reference.pattern, "allow");
        const detail = `${shorten(item)} is not allowed: the part in parentheses cannot be kept`;
        if (matches === undefined) findings.lose(field, "narrowed", detail);
        else parts.set(name, [...(parts.get(name) ?? []), ...matches]);
      }
    }
  }
  warnIfNoneIsKnown(items, isAnyKnown || isWithServers || all, place);
  const limited = [...parts].filter(([tool]) => !whole.has(tool) && !all);
  const rules = limited.flatMap(([tool, matches]): ToolRule[] => [
    { tool, action: "deny" },
    ...matches.map((match): ToolRule => ({ tool, match, action: "allow" })),
  ]);
  const tools = all ? ("*" as const) : [...whole, ...limited.map(([tool]) => tool)];
  return { tools, rules, ...(isWithServers && { isWithServers }) };
}
