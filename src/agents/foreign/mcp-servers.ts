import { isDeepStrictEqual } from "node:util";
import { type McpServer, serverPattern, serverSlug } from "../../contracts/mcp-server.ts";
import { intersect, isSubset, type Selection } from "../../contracts/selection.ts";
import type { ToolRule } from "../../contracts/tool-rule.ts";
import { isRecord } from "../../ports/parse-json.ts";
import type { ProfileFields } from "../profiles/profile.ts";
import { type Findings, type ForeignAgent, shorten } from "./agent-file.ts";
import { recordOf } from "./plain-data.ts";
import { splitTools } from "./split-tools.ts";
import type { ToolAuthority } from "./tool-authority.ts";
import { serverOfTool, toMcpTool, toServerName } from "./tool-reference.ts";

interface ForeignServers {
  readonly servers: Readonly<Record<string, McpServer>>;
  /** Rules for denied tools: a server here lists only its allowed tools. */
  readonly rules: readonly ToolRule[];
  /** The keys without effect of each server. */
  readonly rest: Readonly<Record<string, Config>>;
}

type Config = Readonly<Record<string, unknown>>;

/**
 * Reads a map of MCP servers, in the spellings of all programs. Variables are kept; approvals have
 * no effect. `isInSeconds`: timeouts are written in seconds, as in Roo and programs made from it.
 */
export function readMcpServers(
  value: unknown,
  field: string,
  findings: Findings,
  isInSeconds = false,
): ForeignServers {
  const servers: Record<string, McpServer> = {};
  const rules: ToolRule[] = [];
  const rest: Record<string, Config> = {};
  if (!isRecord(value)) {
    if (value !== null) findings.warn(`"${field}" is not a map of servers`);
    return { servers, rules, rest };
  }
  for (const [written, config] of Object.entries(value)) {
    const name = toServerName(written);
    const place = `${field}.${shorten(written)}`;
    const server = isRecord(config) ? readMcpServer(config, place, findings) : undefined;
    if (server === undefined || name === "" || name === "__proto__") {
      findings.warn(`"${place}" has neither a command nor an address; it was left out`);
      continue;
    }
    const timed = isInSeconds || isOfRoo(config as Config) ? withSeconds(server) : server;
    addServer(servers, name, timed, findings);
    const other = Object.entries(config as Config).filter(([key]) => !known.has(key));
    if (other.length > 0) rest[name] = Object.fromEntries(other);
    const denied = first(config as Config, ["excludeTools", "disabled_tools", "disabledTools"]);
    if (denied !== undefined) rules.push(...denyOf(name, denied, place, findings));
  }
  return { servers, rules, rest };
}

/** Keys of Roo and Kilo alone. Roo accepts up to an hour, in seconds. */
function isOfRoo({ alwaysAllow, timeout }: Config): boolean {
  return alwaysAllow !== undefined && typeof timeout === "number" && timeout <= 3600;
}

export function withSeconds(server: McpServer): McpServer {
  if (server.timeoutMs === undefined) return server;
  return { ...server, timeoutMs: Math.min(2 ** 31 - 1, server.timeoutMs * 1000) };
}

/** Adds a server. Of two servers with one name the stricter is kept. */
function addServer(
  servers: Record<string, McpServer>,
  name: string,
  server: McpServer,
  findings: Findings,
): void {
  const known = Object.hasOwn(servers, name) ? servers[name] : undefined;
  servers[name] = known === undefined ? server : stricterServer(known, server);
  if (known !== undefined) {
    findings.warn(`two servers are called "${shorten(name)}"; the stricter one is kept`);
  }
}

/**
 * The stricter of two servers with one name, the first if neither is. Of two declarations of the
 * same program or address, both restrict.
 */
export function stricterServer(first: McpServer, second: McpServer): McpServer {
  if (isDeepStrictEqual(placeOf(first), placeOf(second))) {
    const tools = intersect(first.tools ?? "*", second.tools ?? "*");
    const times = [first, second].flatMap(({ timeoutMs }) => timeoutMs ?? []);
    return {
      ...first,
      ...(tools !== "*" && { tools }),
      ...(times.length > 0 && { timeoutMs: Math.min(...times) }),
      ...((first.disabled || second.disabled) && { disabled: true }),
    };
  }
  if (first.disabled !== second.disabled) return second.disabled === true ? second : first;
  const one: Selection = first.tools ?? "*";
  const other: Selection = second.tools ?? "*";
  return isSubset(other, one) && !isSubset(one, other) ? second : first;
}

function placeOf({ disabled: _off, timeoutMs: _time, tools: _tools, ...place }: McpServer) {
  return place;
}

export function readMcpServer(
  config: Config,
  place: string,
  findings: Findings,
): McpServer | undefined {
  const [program, ...inline] = wordsOf(config["command"] ?? config["cmd"]);
  const url = first(config, ["url", "httpUrl", "serverUrl", "uri"]);
  const type = typeof config["type"] === "string" ? config["type"].toLowerCase() : "";
  const common = readCommon(config);
  for (const key of Object.keys(config)) {
    if (!known.has(key)) findings.lose(`${place}.${key}`, "kept", "it has no effect here");
  }
  if (program !== undefined && program !== "" && typeof url !== "string") {
    const args = [...inline, ...(Array.isArray(config["args"]) ? config["args"].map(String) : [])];
    const own = textsOf(config["env"] ?? config["environment"] ?? config["envs"]);
    const asked = variablesOf(config["env_keys"] ?? config["env_vars"]);
    const env = own === undefined ? asked : { ...asked, ...own };
    const { cwd } = config;
    return {
      kind: "stdio",
      command: withVariables(program),
      ...(args.length > 0 && { args: args.map(withVariables) }),
      ...(env !== undefined && { env }),
      ...(typeof cwd === "string" && cwd !== "" && { cwd }),
      ...common,
    };
  }
  if (typeof url !== "string" || url.trim() === "") return undefined;
  if (type === "sse") {
    findings.warn(`"${place}" uses SSE; streamable HTTP is used instead`);
  }
  const headers = headersOf(config);
  return { kind: "http", url: withVariables(url), ...(headers && { headers }), ...common };
}

const known = new Set(
  `type command cmd args env environment envs env_keys cwd url httpUrl serverUrl uri headers
   http_headers env_http_headers bearer_token_env_var env_vars tool_timeout_sec
   disabled enabled timeout tools includeTools enabled_tools available_tools
   excludeTools disabled_tools disabledTools name description display_name bundled`.split(/\s+/),
);

function readCommon(config: Config) {
  const allowed = first(config, ["tools", "includeTools", "enabled_tools", "available_tools"]);
  const split = allowed === undefined ? undefined : splitTools(allowed);
  const tools = split?.kind === "items" ? split.items : [];
  // A map is an unknown form of restriction: no tool is allowed.
  const limits = split !== undefined && split.kind !== "all";
  const isOff =
    isTrue(config["disabled"]) || (config["enabled"] !== undefined && !isTrue(config["enabled"]));
  const { timeout: written, tool_timeout_sec: seconds } = config;
  const timeout = typeof seconds === "number" ? Math.ceil(seconds * 1000) : written;
  const isTimeout = typeof timeout === "number" && Number.isInteger(timeout) && timeout > 0;
  return {
    ...(limits && { tools: tools.filter((tool) => tool.length <= 256) }),
    ...(isTimeout && timeout < 2 ** 31 && { timeoutMs: timeout }),
    ...(isOff && { disabled: true }),
  };
}

function denyOf(server: string, denied: unknown, place: string, findings: Findings): ToolRule[] {
  const split = splitTools(denied);
  if (split.kind === "none" && split.reason === undefined) return [];
  const items = split.kind === "items" ? split.items : ["*"];
  return items.map((item) => {
    const tool = toMcpTool(server, item);
    if (tool === undefined) findings.lose(place, "narrowed", "all of its tools are denied");
    return { tool: tool ?? serverPattern(server), action: "deny" };
  });
}

function wordsOf(command: unknown): readonly string[] {
  if (typeof command === "string") return [command.trim()];
  return Array.isArray(command) ? command.map(String) : [];
}

function first(config: Config, keys: readonly string[]): unknown {
  return keys.map((key) => config[key]).find((value) => value !== undefined);
}

function isTrue(value: unknown): boolean {
  return value === true || value === "true";
}

/** Reads a map of texts, with variables in our syntax. */
function textsOf(value: unknown): Record<string, string> | undefined {
  if (!isRecord(value)) return undefined;
  const entries = Object.entries(value).filter(([key]) => key !== "__proto__");
  return Object.fromEntries(
    entries.map(([key, text]) => [key, withVariables(text === null ? "" : String(text))]),
  );
}

/** Reads names of variables, which are taken from the environment at the start. */
function variablesOf(value: unknown): Record<string, string> | undefined {
  const names = Array.isArray(value) ? value.filter((name) => isVariable(name)) : [];
  return names.length === 0
    ? undefined
    : Object.fromEntries(names.map((name) => [name, `\${${name}}`]));
}

function headersOf(config: Readonly<Record<string, unknown>>): Record<string, string> | undefined {
  const written = textsOf(config["headers"] ?? config["http_headers"]);
  const { bearer_token_env_var: token, env_http_headers: named } = config;
  const fromVariables = Object.entries(isRecord(named) ? named : {}).filter(
    ([key, name]) => key !== "__proto__" && isVariable(name),
  );
  const headers = {
    ...(isVariable(token) && { Authorization: `Bearer \${${token}}` }),
    ...Object.fromEntries(fromVariables.map(([key, name]) => [key, `\${${name}}`])),
    ...written,
  };
  return written === undefined && Object.keys(headers).length === 0 ? undefined : headers;
}

function isVariable(name: unknown): name is string {
  return typeof name === "string" && /^[A-Za-z_]\w*$/.test(name);
}

/** Converts `${env:NAME}` to `${NAME}`; variables that prompt a person are kept. */
function withVariables(text: string): string {
  return text.replaceAll("${env:", "${");
}

interface DeclaredServers {
  readonly names: readonly string[];
  readonly isDeclared: boolean;
  readonly servers: Readonly<Record<string, McpServer>>;
  readonly rules: readonly ToolRule[];
  /** Settings without effect, by the key that holds them. */
  readonly rest: Readonly<Record<string, unknown>>;
}

/** Reads a map of MCP servers, or a list of names and maps. */
export function readServers(
  { findings, lineOf }: ForeignAgent,
  values: readonly (readonly [string, unknown])[],
): DeclaredServers {
  const names = new Set<string>();
  const servers: Record<string, McpServer> = {};
  const rules: ToolRule[] = [];
  const rest: Record<string, unknown> = {};
  for (const [key, value] of values) {
    if (value === null) findings.warn(`"${key}" has no value; no server is given`, lineOf(key));
    for (const item of Array.isArray(value) ? value : [value]) {
      if (typeof item === "string") names.add(toServerName(item));
      else {
        const read = readMcpServers(item, key, findings);
        for (const [name, server] of Object.entries(read.servers)) {
          addServer(servers, name, server, findings);
        }
        rules.push(...read.rules);
        if (Object.keys(read.rest).length > 0) rest[key] = { ...recordOf(rest[key]), ...read.rest };
        for (const name of Object.keys(read.servers)) names.add(name);
      }
    }
  }
  names.delete("");
  return { names: [...names], isDeclared: values.length > 0, servers, rules, rest };
}

/**
 * The servers of the profile. A list of tools is complete: a declared server without a tool in it
 * is dropped, since all of its tools could be called.
 */
export function serversOf(
  { isWithServers, tools }: ToolAuthority,
  declared: DeclaredServers,
  { findings }: ForeignAgent,
): Pick<ProfileFields, "mcpServers" | "servers"> {
  if (isWithServers === true) {
    const { servers } = declared;
    return { mcpServers: "*", ...(Object.keys(servers).length > 0 && { servers }) };
  }
  const isListed = tools !== undefined && tools !== "*";
  const named = new Set(isListed ? tools.flatMap((tool) => serverOfTool(tool) ?? []) : []);
  const left = declared.names.filter((name) => isListed && !named.has(serverSlug(name)));
  for (const name of left) {
    findings.lose("mcpServers", "narrowed", `${name}: the list of tools names none of its tools`);
  }
  const brought = Object.entries(declared.servers).filter(([name]) => !left.includes(name));
  const isSaid = declared.isDeclared && (!isListed || declared.names.length === 0);
  return {
    ...(brought.length > 0 && { servers: Object.fromEntries(brought) }),
    ...(isSaid && { mcpServers: declared.names }),
  };
}
