import { isDeepStrictEqual } from "node:util";
import type { ToolRule } from "../../contracts/tool-rule.ts";
import { isRecord } from "../../ports/parse-json.ts";
import { type ForeignAgent, type ImportedAgent, shorten, type ToolsPlace } from "./agent-file.ts";
import { authorityKey } from "./agent-keys.ts";
import { readAllowedTools } from "./allowed-tools.ts";
import { readDeniedTools } from "./denied-tools.ts";
import { readHookedTools } from "./hooked-tools.ts";
import { importAgent, type Meaning, readText } from "./import-agent.ts";
import { isOwnAuthority } from "./own-authority.ts";
import { recordOf } from "./plain-data.ts";
import { isReadOnly } from "./read-authority.ts";
import type { ToolAuthority } from "./tool-authority.ts";
import { writingTools } from "./tool-reference.ts";

/** Agents in Markdown: the body is the prompt, unless a key holds it. */
const markdownMeaning: Meaning = {
  prompt: ["systemPrompt", "system_prompt", "instructions", "developer_instructions", "prompt"],
};

/**
 * Formats without special keys: VS Code's agents and chat modes, Cursor, pi, and Kiro's Markdown,
 * in which `allowedTools` is the list of tools.
 */
export function importMarkdown(agent: ForeignAgent): ImportedAgent {
  return importAgent(agent, markdownMeaning);
}

/** Claude Code: `.claude/agents/*.md`. Most other programs copied this format. */
export function importClaude(agent: ForeignAgent): ImportedAgent {
  const parts = [...capabilityParts(agent), ...readClaudeSettings(agent)];
  return importAgent(agent, { ...markdownMeaning, parts });
}

/** All keys of `permissions`. Another one may be a misspelt restriction. */
const permissionKeys: ReadonlySet<string> = new Set([
  ...["allow", "ask", "deny", "defaultMode", "additionalDirectories"],
  ...["disableBypassPermissionsMode", "disableAutoMode", "skipDangerousModePermissionPrompt"],
]);

/** What a project's settings of Claude Code restrict, they restrict for its agents too. */
function readClaudeSettings({ findings, settings = [] }: ForeignAgent): readonly ToolAuthority[] {
  return settings.flatMap(({ hooks, permissions }) => {
    const { ask, defaultMode, deny } = recordOf(permissions);
    const placeOf = (key: string): ToolsPlace => {
      const field = `settings.json ${key}`;
      return { field, line: undefined, findings, servers: [], isRule: true };
    };
    for (const key of Object.keys(recordOf(permissions))) {
      if (permissionKeys.has(key)) continue;
      const message = `settings.json permissions.${shorten(key)} is not known; is it deny or ask?`;
      findings.refuse(message);
    }
    const denied = deny === undefined ? [] : [readDeniedTools(deny, placeOf("permissions.deny"))];
    const asked =
      ask === undefined ? [] : [toAsk(readDeniedTools(ask, placeOf("permissions.ask")))];
    const mode = placeOf("permissions.defaultMode");
    const isReading = defaultMode !== undefined && isReadOnly("permissionMode", defaultMode, mode);
    const rules = isReading ? writingTools.map((tool): ToolRule => ({ tool, action: "deny" })) : [];
    return [
      ...denied,
      ...asked,
      { rules },
      readHookedTools(hooks, placeOf("hooks")) ?? { rules: [] },
    ];
  });
}

function toAsk(denied: ToolAuthority): ToolAuthority {
  return { ...denied, rules: denied.rules.map((rule) => ({ ...rule, action: "ask" })) };
}

/** Some collections list tools inside a map of capabilities. They narrow, so they apply. */
function capabilityParts({ fields, findings, lineOf }: ForeignAgent) {
  const { allowed_tools, restricted_tools } = recordOf(fields["capabilities"]);
  const line = lineOf("capabilities");
  const placeOf = (key: string) => ({ field: `capabilities.${key}`, line, findings, servers: [] });
  return [
    ...(allowed_tools === undefined
      ? []
      : [readAllowedTools(allowed_tools, placeOf("allowed_tools"))]),
    ...(restricted_tools === undefined
      ? []
      : [readDeniedTools(restricted_tools, placeOf("restricted_tools"))]),
  ];
}

/** Gemini CLI: `.gemini/agents/*.md`. More lenient than its own reader. */
export function importGemini(agent: ForeignAgent): ImportedAgent {
  if (agent.fields["kind"] === "remote" || agent.fields["agent_card_url"] !== undefined) {
    agent.findings.refuse("a remote agent runs elsewhere; it cannot be a profile");
  }
  return importAgent(agent, markdownMeaning);
}

type Fields = Readonly<Record<string, unknown>>;

/** opencode, in Markdown and as an entry of its configuration. */
export function importOpencode(agent: ForeignAgent): ImportedAgent {
  const prompt = includeFiles(agent.fields["prompt"] ?? agent.fields["system"], agent);
  const body = [agent.body, prompt].filter((text) => text !== "").join("\n\n");
  const used = ["prompt", "system"];
  // An entry without a description may change an agent that opencode ships.
  const substitute = `The agent ${agent.fallbackName} of an opencode configuration.`;
  const isEntry = agent.format === "opencode-json";
  return importAgent({ ...agent, body }, { used, ...(isEntry && { substitute }) });
}

/** Codex: `.codex/agents/*.toml`. It has no list of tools; `sandbox_mode` restricts. */
export function importCodex(written: ForeignAgent): ImportedAgent {
  const { agent: table, ...top } = written.fields;
  const fields = isRecord(table) ? joinTable(top, table, written) : written.fields;
  const agent = { ...written, fields };
  for (const [key, value] of Object.entries(fields)) {
    const lost = knownTables.has(key) ? undefined : findAuthority(value);
    if (lost === undefined) continue;
    const message = `[${shorten(key)}] restricts with "${lost}", and is not a table that is known; say it at the top level`;
    agent.findings.refuse(message, agent.lineOf(key));
  }
  return importAgent(agent, { prompt: ["developer_instructions", "instructions"] });
}

/** Tables that are read, or that say nothing about what an agent may do. */
const knownTables: ReadonlySet<string> = new Set([
  ...["mcp_servers", "tools", "skills", "agents", "permissions", "hooks", "metadata", "limits"],
  ...["workspace", "sandbox_workspace_write"],
]);

/** Joins the keys of the table `[agent]` with those above it. What is said twice must be the same. */
function joinTable(top: Fields, table: Fields, { findings, lineOf }: ForeignAgent): Fields {
  for (const key of Object.keys(table)) {
    if (top[key] === undefined || isDeepStrictEqual(top[key], table[key])) continue;
    const message = `"${shorten(key)}" is in [agent] and above it, with different values; keep one`;
    if (authorityKey(key, "codex") !== undefined) findings.refuse(message, lineOf(key));
    else findings.warn(`${message}. The one above counts`, lineOf(key));
  }
  return { ...table, ...top };
}

/** The first key below a value that restricts, however deep it is. */
function findAuthority(value: unknown): string | undefined {
  if (Array.isArray(value)) return value.map(findAuthority).find((key) => key !== undefined);
  for (const [key, inner] of Object.entries(recordOf(value))) {
    const isOne = authorityKey(key, "codex") !== undefined || isOwnAuthority(key);
    const found = isOne ? key : findAuthority(inner);
    if (found !== undefined) return found;
  }
  return undefined;
}

/**
 * Kiro's JSON: `tools` lists the tools, and `allowedTools` those that need no approval. Without
 * `tools`, `allowedTools` is read as the list.
 */
export function importKiroJson(agent: ForeignAgent): ImportedAgent {
  const body = includeFiles(agent.fields["prompt"], agent);
  const preApproved = agent.fields["tools"] === undefined ? [] : ["allowedTools"];
  return importAgent({ ...agent, body }, { used: ["prompt"], preApproved });
}

/** A mode of Roo. Roo requires groups, so a mode without them has no tools. */
export function importRoo(agent: ForeignAgent): ImportedAgent {
  const { fields, findings } = agent;
  const parts: ToolAuthority[] = [];
  if (!Object.keys(fields).some((key) => /^groups$/i.test(key))) {
    findings.warn('"groups" is missing; no tool is allowed');
    parts.push({ tools: [], rules: [] });
  }
  return importAgent(agent, {
    name: ["slug", "name"],
    title: ["name"],
    description: ["whenToUse", "description"],
    prompt: ["roleDefinition", "customInstructions"],
    parts,
  });
}

/**
 * A SKILL.md as an agent: its body is the prompt. `allowed-tools` approves calls in other programs;
 * it neither restricts nor grants here.
 */
export function importSkill(agent: ForeignAgent): ImportedAgent {
  return importAgent(agent);
}

/** Agents in YAML, which some collections have beside the Markdown of Claude Code. */
export function importYamlAgent(agent: ForeignAgent): ImportedAgent {
  const { capabilities } = agent.fields;
  const words = Array.isArray(capabilities) ? readText(capabilities.map(String)) : undefined;
  return importAgent(agent, {
    ...(words !== undefined && { substitute: `For ${words.replaceAll("\n", ", ")}.` }),
    prompt: ["systemPrompt", "system_prompt", "instructions", "prompt"],
    description: ["description", "summary"],
  });
}

/** A prompt with the files that `{file:…}` or `file://` name. */
function includeFiles(value: unknown, agent: ForeignAgent): string {
  const text = readText(value) ?? "";
  const whole = /^file:\/\/(\S+)$/.exec(text)?.[1];
  if (whole !== undefined) return agent.include(whole) ?? "";
  return text.replaceAll(
    /\{file:([^{}\n]+)\}/g,
    (_, path: string) => agent.include(path.trim()) ?? "",
  );
}
