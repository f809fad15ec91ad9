import { mcpToolName, serverPattern } from "../../contracts/mcp-tool-name.ts";
import { builtInTools, canonicalTools } from "./tool-names.ts";

/** What one word in a list of tools stands for. */
export type ToolReference =
  | {
      readonly kind: "tools";
      readonly names: readonly string[];
      /** The part in parentheses: only such calls. */
      readonly pattern?: string;
      readonly isKnown: boolean;
    }
  | { readonly kind: "all" }
  /** All tools of all MCP servers: those have no common name that a rule could speak of. */
  | { readonly kind: "servers" }
  | { readonly kind: "unusable"; readonly reason: string };

/** Groups of tools in VS Code; elsewhere a word before a slash is an MCP server. */
const toolSets = new Set(
  "agent browser edit execute read search web vscode todo runcommands".split(" "),
);

/** `servers`: names that the file declares, so that `mcp_my_server_tool` is cut at the right place. */
export function readToolReference(item: string, servers: readonly string[] = []): ToolReference {
  const [, base = item, pattern] = /^([^()]+)\((.*)\)$/s.exec(item) ?? [];
  if (/[()]/.test(base)) return { kind: "unusable", reason: "its parentheses do not match" };
  const name = base.trim();
  if (name === "*") return { kind: "all" };
  if (/^mcp__?\*$/.test(name) && (pattern === undefined || pattern.trim() === "*")) {
    return { kind: "servers" };
  }
  const named = namesOf(name, servers);
  if (named === undefined) {
    return { kind: "unusable", reason: "it is not one name, and cannot be written as one here" };
  }
  if (pattern === undefined || pattern.trim() === "*") return { kind: "tools", ...named };
  if (named.names.some((each) => each.startsWith("mcp__"))) {
    return { kind: "unusable", reason: "calls of MCP tools cannot be told apart by a pattern" };
  }
  return { kind: "tools", ...named, pattern: pattern.trim() };
}

interface Named {
  readonly names: readonly string[];
  readonly isKnown: boolean;
}

function namesOf(name: string, servers: readonly string[]): Named | undefined {
  if (/^@builtin$/i.test(name)) {
    return { names: builtInTools.filter((tool) => tool !== "load_skill"), isKnown: true };
  }
  const built = canonicalTools(name.replace(/\/\*$/, ""));
  if (built !== undefined) return { names: built, isKnown: true };
  const server = serverOf(name, servers);
  if (server !== undefined) {
    const tool = toMcpTool(server.name, server.tool);
    return tool === undefined ? undefined : { names: [tool], isKnown: true };
  }
  return /^[^\s*]{1,256}$/.test(name) ? { names: [name], isKnown: false } : undefined;
}

function serverOf(
  name: string,
  servers: readonly string[],
): { readonly name: string; readonly tool: string } | undefined {
  const double = /^mcp__(.+?)(?:__(.+))?$/.exec(name);
  if (double) return { name: double[1] ?? "", tool: double[2] ?? "*" };
  if (name.startsWith("mcp_")) {
    const rest = name.slice(4);
    const declared = servers.filter((each) => rest === each || rest.startsWith(`${each}_`));
    const longest = declared.sort((left, right) => right.length - left.length)[0];
    const cut = longest?.length ?? (rest.includes("_") ? rest.indexOf("_") : rest.length);
    return { name: rest.slice(0, cut), tool: rest.slice(cut + 1) || "*" };
  }
  // opencode writes all tools of a server so.
  const underscore = /^([^/]+)_\*$/.exec(name)?.[1];
  if (underscore !== undefined) return { name: underscore, tool: "*" };
  const [, at, before = "", after = "*"] = /^(@?)([^/]+)(?:\/(.+))?$/.exec(name) ?? [];
  if (at === "@") return { name: before, tool: after };
  if (!name.includes("/") || toolSets.has(before.toLowerCase())) {
    return servers.includes(name) ? { name, tool: "*" } : undefined;
  }
  return { name: before, tool: after };
}

/** The name under which an MCP tool is called here; undefined where a pattern says too much. */
export function toMcpTool(server: string, tool: string): string | undefined {
  const name = toServerName(server);
  if (!/^[\p{L}\p{N}.@+_-]+$/u.test(name) || (tool !== "*" && !/^[^\s*]{1,128}$/.test(tool)))
    return undefined;
  return tool === "*" ? serverPattern(name) : mcpToolName(name, tool);
}

/** Server names are one word here; capitals and dots stay. */
export function toServerName(name: string): string {
  return name.trim().replaceAll(/\s+/g, "-").replaceAll("*", "").slice(0, 128);
}

/** The server of a tool by its name here, as names have it: see `serverSlug`. */
export function serverOfTool(tool: string): string | undefined {
  return /^mcp__(.+?)__/.exec(tool)?.[1];
}
