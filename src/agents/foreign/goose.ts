import type { McpServer } from "../../contracts/mcp-server.ts";
import { isRecord } from "../../ports/parse-json.ts";
import type { ProfileFields } from "../profiles/profile.ts";
import { type ForeignAgent, type ImportedAgent, shorten } from "./agent-file.ts";
import { readAllowedTools } from "./allowed-tools.ts";
import { importAgent, readText } from "./import-agent.ts";
import { readMcpServer, withSeconds } from "./mcp-servers.ts";
import { recordOf } from "./plain-data.ts";
import type { ToolAuthority } from "./tool-authority.ts";
import { toMcpTool, toServerName } from "./tool-reference.ts";

/**
 * A recipe of Goose. `instructions` are the prompt and `prompt` is the first message. Without
 * instructions, `prompt` is the prompt.
 */
export function importGoose(agent: ForeignAgent): ImportedAgent {
  const { fields, findings } = agent;
  const { extensions, settings, response, sub_recipes } = fields;
  const read = extensions === undefined ? undefined : readExtensions(extensions, agent);
  const { goose_provider, goose_model, temperature, max_turns } = recordOf(settings);
  const model = typeof goose_model === "string" ? goose_model : undefined;
  const flat = {
    ...fields,
    ...(model && {
      model: typeof goose_provider === "string" ? `${goose_provider}/${model}` : model,
    }),
    ...(temperature !== undefined && { temperature }),
    ...(max_turns !== undefined && { max_turns }),
  };
  for (const { path } of Array.isArray(sub_recipes) ? sub_recipes.map(recordOf) : []) {
    if (typeof path === "string") agent.include(path);
  }
  const { json_schema } = recordOf(response);
  const exit: ProfileFields = isRecord(json_schema) ? { exit: { outputSchema: json_schema } } : {};
  if (Array.isArray(fields["parameters"])) {
    findings.lose("parameters", "kept", "{{ }} is not filled in; the task has to say it");
  }
  const hasInstructions = readText(fields["instructions"]) !== undefined;
  const own: ProfileFields = {
    ...exit,
    ...(read && Object.keys(read.servers).length > 0 && { servers: read.servers }),
  };
  return importAgent(
    { ...agent, fields: flat },
    {
      name: ["name", "title"],
      title: ["title"],
      prompt: hasInstructions ? ["instructions"] : ["instructions", "prompt"],
      opening: hasInstructions ? ["prompt"] : [],
      used: ["extensions", "settings", ...(isRecord(json_schema) ? ["response"] : [])],
      parts: read === undefined ? [] : [read],
      fields: own,
    },
  );
}

/** Our tools that correspond to Goose's own extensions. */
const builtIn: ReadonlyMap<string, readonly string[]> = new Map([
  ["developer", ["read_file", "write_file", "edit_file", "list_files", "glob", "grep", "shell"]],
  ["computercontroller", ["web_fetch"]],
]);

/** Reads the extensions of a recipe, which are all that it can use: tools, and MCP servers. */
function readExtensions(
  value: unknown,
  { findings, lineOf }: ForeignAgent,
): ToolAuthority & { readonly servers: Readonly<Record<string, McpServer>> } {
  const servers: Record<string, McpServer> = {};
  const tools = new Set<string>();
  const line = lineOf("extensions");
  if (!Array.isArray(value)) findings.warn('"extensions" is not a list; no tool is allowed', line);
  for (const item of Array.isArray(value) ? value : []) {
    const extension = recordOf(item);
    const name = toServerName(String(extension["name"] ?? ""));
    const field = `extensions.${shorten(name)}`;
    const place = { field, line, findings, servers: [] };
    const listed = extension["available_tools"];
    const own = builtIn.get(name.toLowerCase());
    if (own !== undefined) {
      const chosen = isGiven(listed) ? readAllowedTools(listed, place).tools : "*";
      for (const tool of own) if (chosen === "*" || chosen?.includes(tool)) tools.add(tool);
      continue;
    }
    const server = readMcpServer(withKeys(extension), field, findings);
    if (server === undefined || name === "" || name === "__proto__") {
      findings.lose("extensions", "narrowed", `${shorten(name)} is not known here`);
      continue;
    }
    servers[name] = withSeconds(server);
    const pattern = toMcpTool(name, "*");
    if (pattern !== undefined && server.tools?.length !== 0) tools.add(pattern);
  }
  return { tools: [...tools], rules: [], servers };
}

/** In Goose, an empty list means all tools. */
function isGiven(listed: unknown): boolean {
  return listed !== undefined && !(Array.isArray(listed) && listed.length === 0);
}

/** `env_keys` names variables that Goose asks for. Here they are read from the environment. */
function withKeys(extension: Readonly<Record<string, unknown>>) {
  const { env_keys, available_tools, ...rest } = extension;
  const names = Array.isArray(env_keys) ? env_keys.filter((key) => typeof key === "string") : [];
  const env = Object.fromEntries(names.map((key) => [key, `\${${key}}`]));
  return {
    ...rest,
    ...(isGiven(available_tools) && { available_tools }),
    ...(names.length > 0 && { env: { ...env, ...recordOf(rest["envs"]) } }),
  };
}
