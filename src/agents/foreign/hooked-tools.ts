import type { ToolRule } from "../../contracts/tool-rule.ts";
import { isRecord } from "../../ports/parse-json.ts";
import { shorten, type ToolsPlace } from "./agent-file.ts";
import { coverDelegating } from "./denied-tools.ts";
import { recordOf } from "./plain-data.ts";
import type { ToolAuthority } from "./tool-authority.ts";
import { readToolReference } from "./tool-reference.ts";

const guarding = /^(?:pretooluse|permissionrequest|beforetool(?:call|use)?)$/;
const mentions = /\b(?:pre[-_]?tool[-_]?use|permission[-_]?request|before[-_]?tool)\b/i;

/**
 * Replaces hooks that run before tool calls and can forbid them. Hooks never run here; instead a
 * person is asked about the tools that the hook matches. Undefined: there is no such hook.
 */
export function readHookedTools(value: unknown, place: ToolsPlace): ToolAuthority | undefined {
  const matchers = findMatchers(value);
  if (matchers.length === 0) return undefined;
  const rules = matchers.flatMap((matcher) => rulesOf(matcher, place));
  const isAll = rules.some(({ tool }) => tool === "*");
  const tools = isAll
    ? "every tool"
    : [...new Set(rules.map(({ tool }) => shorten(tool)))].slice(0, 10).join(", ");
  const { field, findings, line } = place;
  findings.warn(`"${field}" can forbid calls and is never run; a person is asked instead`, line);
  findings.lose(field, "narrowed", `asked about before it is called: ${tools}`);
  return { rules: isAll ? [{ tool: "*", action: "ask" }] : rules };
}

/** The matcher of each hook; undefined for all tools, or when it cannot be read. */
function findMatchers(value: unknown): readonly (string | undefined)[] {
  if (!isRecord(value)) return mentions.test(JSON.stringify(value) ?? "") ? [undefined] : [];
  return Object.entries(value).flatMap(([event, entries]) => {
    if (!guarding.test(event.toLowerCase().replaceAll(/[-_]/g, ""))) return [];
    if (Array.isArray(entries) && entries.length === 0) return [];
    if (!Array.isArray(entries)) return [undefined];
    return entries.map((entry) => {
      const { matcher } = recordOf(entry);
      return typeof matcher === "string" ? matcher : undefined;
    });
  });
}

function rulesOf(matcher: string | undefined, place: ToolsPlace): readonly ToolRule[] {
  const all: readonly ToolRule[] = [{ tool: "*", action: "ask" }];
  if (matcher === undefined) return all;
  // Names and alternatives of names. Any other expression may match every tool.
  const names = matcher.split("|").map((name) => name.trim().replace(/__\.\*$/, "__*"));
  const rules = names.flatMap((name): readonly ToolRule[] => {
    if (!/^@?[\w/-]+(?:__\*)?$/.test(name)) return all;
    const reference = readToolReference(name, place);
    if (reference.kind !== "tools") return all;
    return reference.names.map((tool) => ({ tool, action: "ask" }));
  });
  return coverDelegating(rules);
}
