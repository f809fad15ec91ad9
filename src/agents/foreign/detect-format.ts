import { basename } from "node:path";
import { isRecord } from "../../ports/parse-json.ts";
import type { AgentFormat } from "./agent-file.ts";
import { recordOf } from "./plain-data.ts";

export type Syntax = "markdown" | "toml" | "json" | "yaml";

export interface PathFormat {
  readonly syntax: Syntax | undefined;
  /** Undefined when the path does not tell. */
  readonly format: AgentFormat | undefined;
  /** The reason why the file is no agent, whatever it contains. */
  readonly skip?: string;
  /** A document by its name, and an agent if it has the front matter of one. */
  readonly mayBeAgent?: true;
}

const documents =
  /^(?:readme|changelog|contributing|licen[cs]es?|code_of_conduct|notice)(?:[._-][a-z]{2}(?:[-_][a-z]{2,4})?)?(?:\.\w+)?$/i;
const notes = /^(?:agents|claude|gemini|copilot-instructions|index|notes?|todo)\.md$/i;
const schemas =
  /(?:[.-]schema\.(?:json|ya?ml)|^(?:package|tsconfig|settings|plugin|marketplace)\b.*\.json)$/i;

const syntaxOfEnding: ReadonlyMap<string, Syntax> = new Map([
  ["md", "markdown"],
  ["mdc", "markdown"],
  ["markdown", "markdown"],
  ["toml", "toml"],
  ["json", "json"],
  ["jsonc", "json"],
  ["yaml", "yaml"],
  ["yml", "yaml"],
]);

const byFolder: readonly (readonly [string, AgentFormat, readonly Syntax[]])[] = [
  [".mandate", "mandate", ["markdown", "json", "yaml"]],
  [".claude", "claude", ["markdown"]],
  [".opencode", "opencode", ["markdown"]],
  [".gemini", "gemini", ["markdown"]],
  [".codex", "codex", ["toml"]],
  [".github", "copilot", ["markdown"]],
  [".copilot", "copilot", ["markdown"]],
  [".cursor", "cursor", ["markdown"]],
  [".kiro", "kiro", ["markdown", "json"]],
  [".pi", "pi", ["markdown"]],
  [".roo", "roo", ["yaml", "json"]],
  ["custom_modes.d", "roo", ["yaml", "json"]],
  [".goose", "goose", ["yaml"]],
];

const otherFolders =
  /(?:^|\/)\.(?:claude|opencode|gemini|cursor|github|codex|kiro|roo)\/(?:commands?|hooks|rules|prompts|instructions|workflows|issue_template|steering|specs)\//i;

/** Whether a file is a document about agents, and no agent. */
export function isNote(path: string): boolean {
  return notes.test(basename(path));
}

/** Detects the format by the path. In collections, the folder `dot-x` stands for `.x`. */
export function formatOfPath(path: string): PathFormat {
  const found = formatOfPlace(path);
  if (!documents.test(basename(path))) return found;
  const { format, skip, syntax } = found;
  const mayBe = syntax === "markdown" && format !== "mandate" && skip === undefined;
  const isReadme = /^readme/i.test(basename(path));
  return {
    ...found,
    skip: "a document about agents",
    ...(mayBe && !isReadme && { mayBeAgent: true }),
  };
}

function formatOfPlace(path: string): PathFormat {
  const parts = path.split(/[\\/]/).map((part) => part.replace(/^dot-(?=.)/, "."));
  const file = parts.at(-1) ?? "";
  const syntax = syntaxOfEnding.get(/\.(\w+)$/.exec(file)?.[1]?.toLowerCase() ?? "");
  if (/^skill\.md$/i.test(file)) return { syntax, format: "skill" };
  if (file === ".roomodes") return { syntax: "yaml", format: "roo" };
  if (syntax === undefined) return { syntax, format: undefined, skip: "not a format of agents" };
  if (schemas.test(file)) return { syntax, format: undefined, skip: "not a definition of agents" };
  if (/\.chatmode\.md$/i.test(file)) return { syntax, format: "chatmode" };
  if (/\.agent\.md$/i.test(file)) return { syntax, format: "copilot" };
  if (/^opencode\.jsonc?$/i.test(file)) return { syntax, format: "opencode-json" };
  if (/^custom_modes\.(?:ya?ml|json)$/i.test(file)) return { syntax, format: "roo" };
  if (/^(?:\.?mcp|mcp_config|mcp_settings|claude_desktop_config)\.json$/i.test(file)) {
    return { syntax, format: "mcp" };
  }
  if (/(?:^|\/)\.mandate\/skills\//.test(parts.join("/"))) {
    return { syntax, format: undefined, skip: "it belongs to a skill" };
  }
  if (otherFolders.test(parts.join("/"))) {
    return { syntax, format: undefined, skip: "commands, rules and hooks are no agents" };
  }
  const folders = new Set(parts.slice(0, -1));
  const found = byFolder.find(([folder, , kinds]) => folders.has(folder) && kinds.includes(syntax));
  return { syntax, format: found?.[1] };
}

/** Whether a front matter can be that of an agent; documentation has front matter too. */
export function isAgentLike(fields: Readonly<Record<string, unknown>>): boolean {
  return ["name", "description", "tools", "mode"].some((key) => Object.hasOwn(fields, key));
}

/** Detects the format of Markdown by its keys. */
export function formatOfFields(fields: Readonly<Record<string, unknown>>): AgentFormat {
  const has = (...keys: readonly string[]) => keys.some((key) => Object.hasOwn(fields, key));
  if (hasOwnKeys(fields)) return "mandate";
  const { mode, tools } = fields;
  const isOpencode = mode === "subagent" || mode === "primary" || mode === "all";
  if (isOpencode || has("permission") || (isRecord(tools) && !has("color"))) return "opencode";
  if (has("readonly", "is_background")) return "cursor";
  if (has("argument-hint", "handoffs", "mcp-servers", "user-invocable", "target")) return "copilot";
  if (has("max_turns", "timeout_mins") || String(fields["model"]).startsWith("gemini-")) {
    return "gemini";
  }
  if (has("allowedTools")) return "kiro";
  return "claude";
}

/** Detects the format of parsed data. `unknown`: it is no agent, like most data. */
export function formatOfData(value: unknown, path: string, syntax: Syntax): AgentFormat {
  if (!isRecord(value)) return "unknown";
  const has = (...keys: readonly string[]) => keys.some((key) => Object.hasOwn(value, key));
  const hasPrompt = has("instructions", "prompt", "systemPrompt", "system_prompt");
  if (has("customModes") || (has("slug") && has("roleDefinition", "groups"))) return "roo";
  if (String(value["$schema"]).includes("opencode") || isRecord(value["agent"])) {
    return "opencode-json";
  }
  if (isOfYeet(value) || Object.values(recordOf(value["agents"])).some(isOfYeet)) return "yeet";
  // Checked before Kiro: there `allowedTools` approves, here it restricts.
  if (hasOwnKeys(value) && has("name", "description", "prompt", "system_prompt")) return "mandate";
  if (has("title", "extensions") && has("instructions", "prompt")) return "goose";
  if (syntax === "json" && has("name") && has("prompt", "allowedTools")) return "kiro";
  if (syntax === "json" && (has("mcpServers") || hasServers(value["servers"] ?? value))) {
    return "mcp";
  }
  const isAmongAgents = /(?:^|[\\/])agents[\\/]/.test(path) && has("name") && has("description");
  if (has("name", "type") && (hasPrompt || isAmongAgents)) return "yaml-agent";
  return has("type") && has("capabilities") ? "yaml-agent" : "unknown";
}

/** Keys that only profiles of yeet have. */
export const yeetKeys = ["promptPath", "defaultWorkspace", "permissionOverrides"];

function isOfYeet(value: unknown): boolean {
  const fields = recordOf(value);
  return yeetKeys.some((key) => Object.hasOwn(fields, key));
}

/** Whether a map holds MCP servers: each has a command or an address. */
function hasServers(value: unknown): boolean {
  if (!isRecord(value)) return false;
  const entries = Object.values(value);
  return entries.length > 0 && entries.every((entry) => isRecord(entry) && hasWay(entry));
}

function hasWay(entry: Readonly<Record<string, unknown>>): boolean {
  return Object.hasOwn(entry, "command") || Object.hasOwn(entry, "url");
}

/** Keys that no other program uses. */
const unmistakable = new Set([
  ...["importedFrom", "toolRules", "mayDelegate", "maxTokenBudget", "onParentInterrupt"],
  ...["bootstrapFiles", "bootstrap_files", "systemPromptFile", "system_prompt_file"],
]);

const capabilities = ["primary", "subtask", "watcher", "orchestrator"];

const limits = ["tokens", "cost", "timeoutMs", "depth", "retries", "turns", "joinTokens"];

const workspace = ["isolation", "folder", "allowWrites", "writeRoots", "checks", "approval"];

const model = [
  ...["model", "pool", "fallbacks", "allow", "contextWindow", "maxOutputTokens"],
  ...["temperature", "topP", "effort"],
];

/** Keys that other programs use too: their values tell the difference. */
const byShape: Readonly<Record<string, (value: unknown) => boolean>> = {
  capabilities: (value) => isListOf(value, (item) => capabilities.includes(item)),
  limits: (value) => isMapOf(value, limits),
  workspace: (value) => isMapOf(value, workspace),
  exit: (value) => isMapOf(value, ["tools", "outputSchema", "evidence", "review"]),
  triggers: (value) => isMapOf(value, ["slash", "hotkeys"]),
  model: (value) => isMapOf(value, model),
  servers: (value) => isRecord(value) && Object.values(value).some(isOwnServer),
  scopes: isSelection,
  network: isSelection,
  opening: (value) => typeof value === "string",
};

/** Whether a file is in our own format: it has keys that only our files have. */
function hasOwnKeys(fields: Readonly<Record<string, unknown>>): boolean {
  return Object.entries(fields).some(
    ([key, value]) =>
      unmistakable.has(key) || (Object.hasOwn(byShape, key) && byShape[key]?.(value) === true),
  );
}

function isListOf(value: unknown, test: (item: string) => boolean): boolean {
  if (!Array.isArray(value) || value.length === 0) return false;
  return value.every((item) => typeof item === "string" && test(item));
}

function isMapOf(value: unknown, keys: readonly string[]): boolean {
  if (!isRecord(value)) return false;
  const own = Object.keys(value);
  return own.length > 0 && own.every((key) => keys.includes(key));
}

function isSelection(value: unknown): boolean {
  return value === "*" || (Array.isArray(value) && value.every((item) => typeof item === "string"));
}

function isOwnServer(server: unknown): boolean {
  return isRecord(server) && (server["kind"] === "stdio" || server["kind"] === "http");
}
