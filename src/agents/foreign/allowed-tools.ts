import type { ToolRule } from "../../contracts/tool-rule.ts";
import { shorten, type ToolsPlace } from "./agent-file.ts";
import { denyTool } from "./denied-tools.ts";
import { deniesServers, Layers, readAction, readPermissionEntry } from "./permission.ts";
import { splitTools } from "./split-tools.ts";
import { combineAuthority, type ToolAuthority } from "./tool-authority.ts";
import { toMatches } from "./tool-patterns.ts";
import {
  canonicalTools,
  isPlainSpelling,
  readToolReference,
  warnThatNoneIsKnown,
} from "./tool-reference.ts";

/** Reads a list of allowed tools: text, list, map, `*` or true. An empty value means none. */
export function readAllowedTools(value: unknown, place: ToolsPlace): ToolAuthority {
  const { field, findings, line } = place;
  if (value instanceof Layers) {
    return combineAuthority(value.layers.map((layer) => readAllowedTools(layer, place)));
  }
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
  const { field, findings } = place;
  const whole = new Set<string>();
  const parts = new Map<string, string[]>();
  let all = false;
  let isWithServers = false;
  let isAnyKnown = false;
  for (const item of items) {
    const reference = readToolReference(item, place);
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
  if (!isAnyKnown && !isWithServers && !all) warnThatNoneIsKnown(items, place);
  const limited = [...parts].filter(([tool]) => !whole.has(tool) && !all);
  const rules = limited.flatMap(([tool, matches]): ToolRule[] => [
    { tool, action: "deny" },
    ...matches.map((match): ToolRule => ({ tool, match, action: "allow" })),
  ]);
  const tools = all ? ("*" as const) : [...whole, ...limited.map(([tool]) => tool)];
  return { tools, rules, ...(isWithServers && { isWithServers }) };
}

type Entries = readonly (readonly [string, unknown])[];

/**
 * Reads a map in which true allows and false denies. When it allows any tool, unnamed tools are
 * denied, unless `*` precedes. In opencode unnamed tools stay as they are.
 */
function readToolMap(entries: Entries, place: ToolsPlace): ToolAuthority {
  let everything: boolean | undefined;
  let allowed: string[] = [];
  let denied: string[] = [];
  const rules: ToolRule[] = [];
  let isWithoutServers = false;
  let isWithServers = false;
  for (const [name, value] of entries) {
    if (readToolReference(name, place).kind === "servers") {
      isWithoutServers = deniesServers(name, value, place);
      isWithServers = !isWithoutServers;
      continue;
    }
    const isGlobs = typeof value === "object" && value !== null;
    const action = isGlobs ? "allow" : readAction(value, name, place);
    if (name === "*") {
      // `*` replaces the entries before it: the last match decides.
      everything = action !== "deny";
      allowed = [];
      denied = [];
    } else (action === "deny" ? denied : allowed).push(name);
    if (isGlobs || action === "ask") rules.push(...readPermissionEntry(name, value, place));
  }

  const names = allowed.flatMap((name) => namesIn(name, place));
  const granted = new Set(names.map(({ tool }) => tool));
  const order = new Map(entries.map(([name], index) => [name, index]));
  const orderOf = (name: string) => order.get(name) ?? -1;
  const plain = names.filter(({ isPlain }) => isPlain);
  const plainly = new Map(plain.map(({ name, tool }) => [tool, orderOf(name)]));
  const prohibitions = denied.flatMap((name) =>
    denyTool(name, place).rules.map((rule) => ({ name, rule })),
  );
  for (const { name, rule } of prohibitions) {
    // `patch: false` beside `edit: true`: another name of an allowed tool does not deny it.
    const own = canonicalTools(name, place.format) ?? [rule.tool];
    if (!isPlainSpelling(name) && own.some((tool) => plainly.has(tool))) continue;
    // What a denial covers beside its own tool, a later entry can allow.
    if (!own.includes(rule.tool) && orderOf(name) < (plainly.get(rule.tool) ?? -1)) continue;
    granted.delete(rule.tool);
    rules.push(rule);
  }
  const servers = {
    ...(isWithoutServers && { isWithoutServers }),
    ...(isWithServers && { isWithServers }),
  };
  if (everything === true) return { tools: "*", rules, ...servers };
  const isOpen = allowed.length === 0 || place.isOpenMap === true;
  if (everything === undefined && isOpen) return { rules, ...servers };
  const { field, findings } = place;
  if (everything === undefined) {
    findings.lose(field, "narrowed", "what the map does not name is not allowed");
  }
  if (!isWithServers && !names.some(({ isKnown }) => isKnown)) warnThatNoneIsKnown(allowed, place);
  return { tools: [...granted], rules, ...servers };
}

function namesIn(name: string, place: ToolsPlace) {
  const { field, findings } = place;
  const reference = readToolReference(name, place);
  if (reference.kind !== "tools" || reference.pattern !== undefined) {
    findings.lose(field, "narrowed", `${shorten(name)} is not allowed: it is not one tool's name`);
    return [];
  }
  if (!reference.isKnown) findings.lose(field, "unknown", shorten(name));
  const isPlain = isPlainSpelling(name);
  return reference.names.map((tool) => ({ name, tool, isPlain, isKnown: reference.isKnown }));
}
