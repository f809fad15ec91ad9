import type { ToolRule } from "../../contracts/tool-rule.ts";
import { nearestKey } from "../documents/nearest-key.ts";
import { shorten, type ToolsPlace } from "./agent-file.ts";
import { readNames, splitTools } from "./split-tools.ts";
import { toProfileName } from "./to-profile-name.ts";
import type { ToolAuthority } from "./tool-authority.ts";
import { isBroadened, toMatches } from "./tool-patterns.ts";
import {
  canonicalTools,
  delegatingTools,
  editingTools,
  knownSpellings,
  readingTools,
  readToolReference,
} from "./tool-reference.ts";

/** Tools of other programs that resemble a misspelt tool of ours. */
const otherTools = new Set(["lsp", "todo", "todos", "skill", "skills", "tasks", "reads", "notes"]);

/**
 * Reads a list of denied tools. A name that is not understood is refused: to ignore it would allow
 * what was forbidden.
 */
export function readDeniedTools(value: unknown, place: ToolsPlace): ToolAuthority {
  const { field, findings, line } = place;
  const split = splitTools(value);
  switch (split.kind) {
    case "all":
      return { rules: [{ tool: "*", action: "deny" }] };
    case "none":
      if (split.reason !== undefined && value !== false) {
        findings.refuse(`"${field}": ${split.reason}; write [] where nothing is denied`, line);
      }
      return { rules: [] };
    case "map":
      findings.refuse(`"${field}" is a map; list the tools that are denied`, line);
      return { rules: [] };
    case "items": {
      if (split.dropped > 0) findings.refuse(`"${field}" lists what is not a tool's name`, line);
      const denied = split.items.map((item) => denyTool(item, place));
      const isWithoutServers = denied.some((each) => each.isWithoutServers === true);
      const rules = denied.flatMap((each) => each.rules);
      return { rules, ...(isWithoutServers && { isWithoutServers }) };
    }
  }
}

/** The rules that deny what one word names; none after an error. */
export function denyTool(item: string, place: ToolsPlace): ToolAuthority {
  const { field, findings, line } = place;
  const reference = readToolReference(item, place);
  if (reference.kind === "all") return { rules: [{ tool: "*", action: "deny" }] };
  if (reference.kind === "servers") return { rules: [], isWithoutServers: true };
  if (reference.kind === "unusable") {
    findings.refuse(`"${field}" denies "${shorten(item)}": ${reference.reason}`, line);
    return { rules: [] };
  }
  if (!reference.isKnown && refuseMisspelt(item, place)) return { rules: [] };
  if (!reference.isKnown) findings.lose(field, "unknown", shorten(item));
  const { names, pattern } = reference;
  const tools = new Set(names.flatMap((tool) => coveredTools(tool, pattern, place)));
  const rules = [...tools].flatMap((tool) => denyCalls(tool, pattern, place));
  return { rules: coverDelegating(rules) };
}

/**
 * All tools that a denial of one is about. Only a rule of Claude Code has a pattern, and opencode
 * has one permission for all edits.
 */
function coveredTools(
  tool: string,
  pattern: string | undefined,
  { isOpenMap = false, isRule = pattern !== undefined }: ToolsPlace,
): readonly string[] {
  if (tool === "read_file" && isRule) return readingTools;
  const isEdit = tool === "edit_file" ? isRule || isOpenMap : tool === "write_file" && isOpenMap;
  return isEdit ? editingTools : [tool];
}

/** Denies the calls of one tool that match a pattern, or all. */
export function denyCalls(
  tool: string,
  pattern: string | undefined,
  { field, findings }: ToolsPlace,
): readonly ToolRule[] {
  if (pattern === undefined) return [{ tool, action: "deny" }];
  const matches = toMatches(tool, pattern, "deny");
  if (matches !== undefined) {
    if (isBroadened(tool, pattern)) {
      findings.lose(field, "narrowed", `${shorten(pattern)} is denied as ${matches.join(", ")}`);
    }
    return matches.map((match) => ({ tool, match, action: "deny" }));
  }
  findings.lose(field, "narrowed", `${shorten(pattern)}: all of ${tool} is denied`);
  return [{ tool, action: "deny" }];
}

/** Refuses a misspelt name: to deny «Bsah» denies nothing. */
export function refuseMisspelt(name: string, { field, findings, line }: ToolsPlace): boolean {
  const plain = name.replace(/\(.*$/s, "").trim();
  if (canonicalTools(plain) !== undefined || otherTools.has(plain.toLowerCase())) return false;
  const nearest = nearestKey(plain, knownSpellings(), 2);
  if (nearest === undefined) return false;
  findings.refuse(`"${field}" denies "${shorten(plain)}"; did you mean "${nearest}"?`, line);
  return true;
}

/**
 * Extends rules about delegating to every tool that creates children. A limit by agent name cannot
 * be expressed for the other tools, so it denies them.
 */
export function coverDelegating(rules: readonly ToolRule[]): readonly ToolRule[] {
  const about = rules.filter(({ tool }) => delegatingTools.includes(tool));
  const last = about.at(-1);
  if (last === undefined || about.every(({ action }) => action === "allow")) return rules;
  const isWhole = about.every(({ match }) => match === undefined);
  const action = isWhole ? last.action : "deny";
  const named = new Set(about.map(({ tool }) => tool));
  const others = delegatingTools.filter((tool) => !named.has(tool));
  return [...rules, ...others.map((tool): ToolRule => ({ tool, action }))];
}

/** Reads the agents that may be delegated to, as rules about delegating. */
export function readAgents(value: unknown, place: ToolsPlace): ToolAuthority {
  const names = readNames(value, place);
  if (names === "*") return { rules: [] };
  const tool = "delegate_task";
  const matches = new Set(names.map((name) => toProfileName(name, name)));
  const allowed = [...matches].map((match): ToolRule => ({ tool, match, action: "allow" }));
  return { rules: coverDelegating([{ tool, action: "deny" }, ...allowed]) };
}
