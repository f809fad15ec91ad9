import type { ToolRule } from "../../contracts/tool-rule.ts";
import { isRecord } from "../../ports/parse-json.ts";
import { nearestKey } from "../documents/nearest-key.ts";
import { shorten, type ToolsPlace } from "./agent-file.ts";
import { denyCalls, denyTool, readAgents } from "./denied-tools.ts";
import { combineAuthority, type ToolAuthority } from "./tool-authority.ts";
import { toMatches } from "./tool-patterns.ts";
import { canonicalTools } from "./tool-reference.ts";

const settingKeys = [
  ...["deniedPaths", "deniedCommands", "deniedServices", "blocked", "denyByDefault"],
  ...["allowedPaths", "allowedCommands", "allowedServices", "availableAgents"],
];

/**
 * Reads Kiro's settings of tools. Denied calls are denied; allowed calls need no approval there, so
 * all other calls need it here. A limit that cannot be read denies the whole tool.
 */
export function readToolSettings(value: unknown, place: ToolsPlace): readonly ToolAuthority[] {
  const { field, findings, line } = place;
  if (!isRecord(value)) {
    findings.refuse(`"${field}" is not a map from tools to their settings`, line);
    return [];
  }
  return Object.entries(value).map(([tool, settings]) => {
    const own = { ...place, field: `${field}.${shorten(tool)}` };
    if (!toolName.test(tool)) {
      findings.refuse(`"${own.field}" is no name of a tool; what it restricts would be lost`, line);
    }
    if (!isRecord(settings)) return denyWhole(tool, own, "its settings cannot be read");
    const isStrict = Object.entries(settings).some(
      ([key, setting]) => /^denyByDefault$/i.test(key) && setting !== false,
    );
    const otherwise = isStrict ? "deny" : "ask";
    const parts = Object.entries(settings).map(([key, setting]) =>
      readSetting({ tool, key, otherwise }, setting, own),
    );
    const hasExceptions = parts.some(({ rules }) => rules.some(({ action }) => action === "allow"));
    if (isStrict && !hasExceptions) return denyWhole(tool, own, "it is denied by default");
    return combineAuthority(parts);
  });
}

/**
 * The form of a tool name. Any other key is a typing error, and its restrictions would apply to
 * nothing.
 */
const toolName = /^[\w@./:*-]+$/;

interface Setting {
  readonly tool: string;
  readonly key: string;
  /** The action for calls that no exception allows. */
  readonly otherwise: "ask" | "deny";
}

function readSetting(setting: Setting, value: unknown, place: ToolsPlace): ToolAuthority {
  const { key, otherwise, tool } = setting;
  const { findings, line } = place;
  const field = `${place.field}.${shorten(key)}`;
  const known = settingKeys.find((each) => each.toLowerCase() === key.toLowerCase());
  const items = Array.isArray(value) && value.every(isText) ? value : undefined;
  switch (known) {
    case "deniedPaths":
      if (items === undefined) return denyWhole(tool, place, `"${key}" is not a list of paths`);
      return { rules: items.flatMap((path) => toolsOfKiro(tool).flatMap(denyPath(path, place))) };
    case "allowedPaths":
    case "allowedCommands":
      if (items === undefined) return denyWhole(tool, place, `"${key}" is not a list`);
      return {
        rules: toolsOfKiro(tool).flatMap((each): readonly ToolRule[] => [
          { tool: each, action: otherwise },
          ...allowCalls(each, items, known, place),
        ]),
      };
    case "availableAgents":
      return readAgents(value, { ...place, field });
    case "denyByDefault":
      // Other keys hold the exceptions, and deny all other calls.
      return { rules: [] };
    case "allowedServices":
      findings.lose(field, "narrowed", "every call of it is asked about");
      return { rules: toolsOfKiro(tool).map((each): ToolRule => ({ tool: each, action: "ask" })) };
    case undefined:
      if (nearestKey(key, settingKeys, 3) !== undefined || restricting.test(key)) {
        findings.refuse(`"${field}" is not a setting that is known; it may restrict`, line);
      } else findings.lose(field, "kept", "it has no effect here");
      return { rules: [] };
    default:
      // Commands and addresses are regular expressions in Kiro.
      return denyWhole(tool, place, "what it denies cannot be kept");
  }
}

const restricting = /^(?:den|disallow|block|forbid|exclu|restrict|limit|only)/i;

function denyPath(path: string, place: ToolsPlace) {
  return (tool: string) => denyCalls(tool, path, place);
}

function allowCalls(
  tool: string,
  items: readonly string[],
  key: "allowedPaths" | "allowedCommands",
  { field, findings }: ToolsPlace,
): readonly ToolRule[] {
  return items.flatMap((item): readonly ToolRule[] => {
    const pattern = key === "allowedPaths" ? item : commandOf(item);
    const matches = pattern === undefined ? undefined : toMatches(tool, pattern, "allow");
    if (matches !== undefined) return matches.map((match) => ({ tool, match, action: "allow" }));
    findings.lose(field, "narrowed", `${shorten(item)} is no exception here`);
    return [];
  });
}

/** Converts a regular expression over a whole command: plain text, and `.*` for anything. */
function commandOf(expression: string): string | undefined {
  const plain = expression.replace(/^\^/, "").replace(/\$$/, "").replaceAll(".*", "*");
  const literal = plain.replaceAll("*", "");
  const starsOfOthers = expression.replaceAll(".*", "").includes("*");
  return /[[\](){}|+?^$\\]/.test(literal) || starsOfOthers ? undefined : plain;
}

function denyWhole(tool: string, place: ToolsPlace, reason: string): ToolAuthority {
  place.findings.lose(place.field, "narrowed", `${reason}; it is denied`);
  const known = toolsOfKiro(tool);
  if (canonicalTools(tool) === undefined) return denyTool(tool, place);
  return { rules: known.flatMap((each) => denyTool(each, place).rules) };
}

/** Our tools that correspond to one tool of Kiro. */
function toolsOfKiro(tool: string): readonly string[] {
  return canonicalTools(tool, "kiro") ?? [tool];
}

function isText(value: unknown): value is string {
  return typeof value === "string" && value.trim() !== "";
}
