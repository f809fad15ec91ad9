import { mcpToolName, serverPattern } from "../../contracts/mcp-server.ts";
import { nearestKey } from "../documents/nearest-key.ts";
import { ruledTool } from "../profiles/profile.ts";
import type { AgentFormat, ToolsPlace } from "./agent-file.ts";

/** The meaning of one word in a list of tools. */
type ToolReference =
  | {
      readonly kind: "tools";
      readonly names: readonly string[];
      /** The part in parentheses: only calls that match it. */
      readonly pattern?: string;
      readonly isKnown: boolean;
    }
  | { readonly kind: "all" }
  /** All tools of all MCP servers, which no single rule can name. */
  | { readonly kind: "servers" }
  | { readonly kind: "unusable"; readonly reason: string };

/** Groups of tools in VS Code. Any other word before a slash is an MCP server. */
const toolSets = new Set(
  "agent browser edit execute read search web vscode todo runcommands".split(" "),
);

/**
 * Interprets one word of a format. `servers`: the names that the file declares, to find the end of
 * the server's name in `mcp_my_server_tool`.
 */
export function readToolReference(
  item: string,
  place: Pick<ToolsPlace, "format" | "servers"> = { servers: [] },
): ToolReference {
  const [, base = item, pattern] = /^([^()]+)\((.*)\)$/s.exec(item) ?? [];
  if (/[()]/.test(base)) return { kind: "unusable", reason: "its parentheses do not match" };
  const name = base.trim();
  if (name === "*") return { kind: "all" };
  if (/^mcp__?\*$/.test(name) && (pattern === undefined || pattern.trim() === "*")) {
    return { kind: "servers" };
  }
  const named = namesOf(name, place);
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

function namesOf(
  name: string,
  { format, servers }: Pick<ToolsPlace, "format" | "servers">,
): Named | undefined {
  if (/^@builtin$/i.test(name)) {
    return { names: builtInTools.filter((tool) => tool !== "load_skill"), isKnown: true };
  }
  const built = canonicalTools(name.replace(/\/\*$/, ""), format);
  if (built !== undefined) return { names: built, isKnown: true };
  const server = serverOf(name, servers);
  if (server !== undefined) {
    const tool = toMcpTool(server.name, server.tool);
    return tool === undefined ? undefined : { names: [tool], isKnown: true };
  }
  const isName = /^[^\s*]{1,256}$/.test(name) && ruledTool.test(name);
  return isName ? { names: [name], isKnown: false } : undefined;
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
  // In opencode, `name_*` means all tools of the server `name`.
  const underscore = /^([^/]+)_\*$/.exec(name)?.[1];
  if (underscore !== undefined) return { name: underscore, tool: "*" };
  const [, at, before = "", after = "*"] = /^(@?)([^/]+)(?:\/(.+))?$/.exec(name) ?? [];
  if (at === "@") return { name: before, tool: after };
  if (!name.includes("/") || toolSets.has(before.toLowerCase())) {
    return servers.includes(name) ? { name, tool: "*" } : undefined;
  }
  return { name: before, tool: after };
}

/** The name of an MCP tool here; undefined for a pattern that has no equivalent. */
export function toMcpTool(server: string, tool: string): string | undefined {
  const name = toServerName(server);
  if (!/^[\p{L}\p{N}.@+_-]+$/u.test(name) || (tool !== "*" && !/^[^\s*]{1,128}$/.test(tool)))
    return undefined;
  return tool === "*" ? serverPattern(name) : mcpToolName(name, tool);
}

/** The server's name as one visible word. */
export function toServerName(name: string): string {
  const word = name.trim().replaceAll(/\s+/g, "-");
  return word
    .replaceAll(/[*\p{C}\p{DI}]/gu, "")
    .slice(0, 128)
    .toWellFormed();
}

/** The server in the name of an MCP tool, in the form of `serverSlug`. */
export function serverOfTool(tool: string): string | undefined {
  return /^mcp__(.+?)__/.exec(tool)?.[1];
}

/** Our built-in tools, to which tools of other programs are mapped. */
export const builtInTools = [
  "read_file",
  "write_file",
  "edit_file",
  "list_files",
  "glob",
  "grep",
  "shell",
  "web_fetch",
  "web_search",
  "delegate_task",
  "load_skill",
] as const;

type BuiltInTool = (typeof builtInTools)[number];

/** Tools that can change files; a shell can. */
export const writingTools: readonly BuiltInTool[] = ["write_file", "edit_file", "shell"];

/**
 * All tools that create children. Other programs have one such tool: what they deny, ask about or
 * limit is the right to have children by any of these.
 */
export const delegatingTools: readonly string[] = [
  ...["delegate_task", "delegate_to_agent", "spawn", "spawn_await", "spawn_subagent"],
];

/**
 * The spellings of each tool, without case, `_` and `-`. The first of each line is the plain name.
 */
const spellings: Readonly<Record<BuiltInTool, string>> = {
  read_file: "read readfile fsread view readmanyfiles notebookread readnotebook read/readfile",
  write_file: "write writefile fswrite create createfile writetofile edit/createfile",
  edit_file:
    "edit editfile editfiles edit/editfiles replace patch multiedit applypatch applydiff strreplace notebookedit editnotebook edit/editnotebook",
  list_files: "list ls listfiles listdirectory listdir search/listdirectory",
  glob: "glob find filesearch findfiles search/filesearch",
  grep: "grep grepsearch search codebase search/codebase textsearch search/textsearch searchfilecontent searchfiles ripgrep",
  shell:
    "bash shell runshellcommand runcommands runcommand execute executebash executecommand terminal terminalcommand runinterminal runcommands/runinterminal execute/runinterminal powershell",
  web_fetch: "webfetch fetch web/fetch fetchwebpage",
  web_search: "websearch googlewebsearch searchweb web/search web/websearch",
  delegate_task:
    "task agent delegatetask invokeagent runsubagent agent/runsubagent subagent usesubagent",
  load_skill: "skill loadskill",
};

const toolBySpelling = new Map<string, readonly string[]>([
  ...builtInTools.flatMap((tool) =>
    spellings[tool].split(" ").map((spelling) => [spelling, [tool]] as const),
  ),
  ...delegatingTools.map((tool) => [squash(tool), [tool]] as const),
  ["web", ["web_fetch", "web_search"]],
]);

const plainSpellings: ReadonlySet<string> = new Set([
  ...builtInTools.map((tool) => spellings[tool].split(" ")[0] ?? ""),
  "ls",
]);

export const readingTools: readonly BuiltInTool[] = ["read_file", "list_files", "glob", "grep"];
export const editingTools: readonly BuiltInTool[] = ["edit_file", "write_file"];

/**
 * VS Code: `readFile` was a part of `search` before it had a set of its own, `codebase` shows the
 * content of files, and `editFiles` applies patches, which create files too.
 */
const setsOfVsCode = {
  search: readingTools,
  codebase: ["read_file", "grep"],
  "search/codebase": ["read_file", "grep"],
  edit: editingTools,
  editfiles: editingTools,
  "edit/editfiles": editingTools,
};

/** Words that name several of our tools in one format, where they name a single tool elsewhere. */
const toolSetsOf: Partial<Record<AgentFormat, Readonly<Record<string, readonly string[]>>>> = {
  copilot: setsOfVsCode,
  chatmode: setsOfVsCode,
  kiro: {
    read: readingTools,
    fsread: readingTools,
    write: editingTools,
    fswrite: editingTools,
  },
};

/** Our tools for a name; undefined for an unknown name. */
export function canonicalTools(name: string, format?: AgentFormat): readonly string[] | undefined {
  const word = squash(name);
  const sets = (format && toolSetsOf[format]) ?? {};
  return Object.hasOwn(sets, word) ? sets[word] : toolBySpelling.get(word);
}

/**
 * Whether the name is the plain name of a tool, and not another tool with the same effect (`edit`,
 * not `patch`).
 */
export function isPlainSpelling(name: string): boolean {
  return plainSpellings.has(squash(name));
}

export function knownSpellings(): Iterable<string> {
  return toolBySpelling.keys();
}

function squash(name: string): string {
  return name.toLowerCase().replaceAll(/[_\s-]/g, "");
}

/**
 * Warns about a list that allows no existing tool: most likely it was written for another program.
 */
export function warnThatNoneIsKnown(
  items: readonly string[],
  { field, findings, line }: ToolsPlace,
): void {
  if (items.length === 0) return;
  const near = items
    .slice(0, 20)
    .flatMap((item) => canonicalTools(nearestKey(item, knownSpellings(), 2) ?? "") ?? []);
  const hint =
    near.length > 0
      ? `did you mean ${[...new Set(near)].join(", ")}?`
      : `there are ${builtInTools.join(", ")}`;
  findings.warn(`"${field}": none of the tools it names exists here; ${hint}`, line);
}
