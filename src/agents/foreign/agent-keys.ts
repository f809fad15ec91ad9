import { nearestKey } from "../documents/nearest-key.ts";
import type { AgentFormat } from "./agent-file.ts";

/** The meaning of a key that restricts, in any spelling. */
export type AuthorityKey =
  | "allow"
  | "deny"
  | "permission"
  | "permissionMode"
  | "sandbox"
  | "readonly"
  | "groups"
  | "servers"
  | "skills"
  | "agents"
  | "settings"
  | "webSearch";

/**
 * The spellings of each meaning, without case, `-` and `_`. A restriction applies in every spelling
 * and in every format.
 */
const meanings: ReadonlyMap<string, AuthorityKey> = new Map(
  (
    [
      ["allow", "tools allowedtools enabledtools availabletools includetools"],
      ["deny", "disallowedtools deniedtools denytools excludetools excludedtools blockedtools"],
      ["deny", "restrictedtools forbiddentools disabledtools"],
      ["permission", "permission permissions"],
      ["permissionMode", "permissionmode"],
      ["sandbox", "sandboxmode sandbox"],
      ["readonly", "readonly"],
      ["servers", "mcpservers"],
      ["skills", "skills"],
      ["agents", "agents"],
      ["settings", "toolssettings toolsettings"],
    ] as const
  ).flatMap(([meaning, words]) => words.split(" ").map((word) => [word, meaning] as const)),
);

/** The spellings that are suggested for a misspelt key. */
const suggested = [
  ...["tools", "allowed-tools", "allowedTools", "disallowedTools", "permission", "permissionMode"],
  ...["sandbox_mode", "readonly", "mcpServers", "mcp-servers", "mcp_servers"],
  ...["maxTurns", "max_turns", "maxSteps", "timeout_mins", "toolsSettings"],
  ...["workspace", "toolRules", "mayDelegate", "maxTokenBudget"],
];

/**
 * Short words, and words that resemble keys of other programs: suggested only for a single typing
 * error.
 */
const suggestedClosely = ["agents", "skills", "limits", "exit", "scopes", "network", "servers"];

/** A line of a front matter that begins with one of these, and does not set it, is an error. */
const guardedKeys: ReadonlySet<string> = new Set([
  ...["tools", "allowed-tools", "allowedTools", "disallowedTools"],
  ...["disallowed-tools", "permission", "permissions", "permissionMode", "sandbox_mode"],
  ...["readonly", "mcpServers", "mcp-servers"],
  ...["maxTurns", "max_turns", "maxSteps", "timeout_mins", "toolsSettings"],
  ...["workspace", "limits", "toolRules", "mayDelegate", "maxTokenBudget", "scopes", "network"],
]);

/** `agents` restricts in agents of VS Code; elsewhere any line may begin with that word. */
const guardedInVsCode: ReadonlySet<string> = new Set([...guardedKeys, "agents"]);
const nothing: ReadonlySet<string> = new Set();

export function guardedKeysOf(format: AgentFormat | undefined): ReadonlySet<string> {
  if (format === "skill") return nothing;
  return format === "copilot" || format === "chatmode" ? guardedInVsCode : guardedKeys;
}

export function authorityKey(key: string, format: AgentFormat): AuthorityKey | undefined {
  const word = squashKey(key);
  if (format === "roo" && word === "groups") return "groups";
  if (format === "codex" && word === "websearch") return "webSearch";
  return meanings.get(word);
}

/** Keys of other formats that resemble a restriction by chance. */
const bystanders = new Set([...["toolAliases", "skill", "agent", "scope", "server", "edit"]]);

const dialectKeys: Partial<Record<AgentFormat, readonly string[]>> = {
  roo: ["groups"],
  codex: ["web_search"],
  yeet: ["permissionOverrides", "defaultWorkspace", "capabilities"],
};

/** The restriction that an unknown key may mean. */
export function nearestAuthorityKey(key: string, format: AgentFormat): string | undefined {
  // A key of more than 20 letters is no misspelt restriction. Most keys are misspelt restrictions.
  if (bystanders.has(key) || key.length > 20) return undefined;
  // Most other keys are data: «max_tokens» and «submission» are three typing errors away.
  const ofLength = (each: string) => Math.abs(squashKey(each).length - squashKey(key).length) <= 2;
  const candidates = [...suggested, ...(dialectKeys[format] ?? [])].filter(ofLength);
  return nearestKey(key, candidates, 2) ?? nearestKey(key, suggestedClosely.filter(ofLength), 1);
}

export function squashKey(key: string): string {
  return key.toLowerCase().replaceAll(/[-_\s]/g, "");
}

/** The keys of all Markdown dialects. In invalid YAML, these begin a value. */
export const knownKeys: ReadonlySet<string> = new Set(
  `
  name title displayName display_name description model tools color category tags version author
  temperature top_p topP hooks capabilities priority metadata effort initialPrompt permissionMode
  disallowedTools maxTurns memory background isolation skills mcpServers allowed-tools allowed_tools
  allowedTools extends mode permission permissions disable disabled hidden enabled variant steps
  maxSteps prompt options max_turns timeout_mins kind mcp_servers mcp-servers argument-hint
  user-invocable user-invokable disable-model-invocation infer handoffs agents target readonly
  is_background sandbox_mode model_reasoning_effort reasoningEffort developer_instructions
  instructions systemPrompt system_prompt license compatibility slug whenToUse roleDefinition
  customInstructions groups thinking fallbackModels type keywords triggers examples constraints
  id role created updated date status source domain focus platform resources
  workspace limits toolRules mayDelegate maxTokenBudget scopes network waysOut toolsSettings
`
    .trim()
    .split(/\s+/),
);

/** Keys whose values are prose, in which «user:» is no key. */
export const proseKeys: ReadonlySet<string> = new Set([
  ...["description", "whenToUse", "prompt", "instructions", "developer_instructions"],
  ...["systemPrompt", "system_prompt", "roleDefinition", "customInstructions", "initialPrompt"],
  "argument-hint",
]);
