import { createHash } from "node:crypto";

/**
 * How an MCP server is started or reached. Variables (`${NAME}`, `${NAME:-default}`) are expanded only
 * when it is started, so that a shown, stored or hashed profile contains no secret.
 */
export type McpServer = StdioServer | HttpServer;

interface Common {
  /** Names of its tools that may be called, with an optional `*` at the end; absent: all tools. */
  readonly tools?: readonly string[];
  /** Whether all delegations share one process of the server, or each gets its own. */
  readonly sharing?: "shared" | "delegation";
  readonly timeoutMs?: number;
  readonly disabled?: boolean;
}

export interface StdioServer extends Common {
  readonly kind: "stdio";
  readonly command: string;
  readonly args?: readonly string[];
  /** The environment of the server, in addition to PATH, HOME, LANG and TMPDIR. */
  readonly env?: Readonly<Record<string, string>>;
  /** The server's current directory; absent: an empty private folder. Ignored in a project's file. */
  readonly cwd?: string;
  /** Runs in a sandbox; absent: with the rights of the person. */
  readonly sandbox?: true | ServerSandbox;
  /** Declared by the user's own file or program. Set by the reader of the file, never by its content. */
  readonly isOwn?: true;
}

/** What a server in a sandbox reaches in addition to its own empty folder. */
export interface ServerSandbox {
  /** Hosts, where the contract grants them too; absent: none. */
  readonly network?: readonly string[];
  /** Absolute folders and files that it can read. Ignored in a project's file. */
  readonly read?: readonly string[];
}

export interface HttpServer extends Common {
  readonly kind: "http";
  readonly url: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/** Whether two declarations are equal, apart from `isOwn`. */
export function isSameServer(one: McpServer | undefined, other: McpServer | undefined): boolean {
  const text = (server: McpServer | undefined): string | undefined =>
    JSON.stringify(server === undefined ? server : { ...server, isOwn: undefined });
  return text(one) === text(other);
}

const longestName = 64;
const longestServer = 32;

/**
 * The name of a server's tool in contracts, rules and prompts. The server's part contains no double
 * underscore and does not end in one, so that `mcp__server__*` matches the tools of one server only.
 * @example mcpToolName("github", "create_issue") // "mcp__github__create_issue"
 */
export function mcpToolName(server: string, tool: string): string {
  const prefix = `mcp__${serverSlug(server)}__`;
  const slug = tool.replaceAll(/[^A-Za-z0-9_-]/g, "_");
  const isNothing = !/[A-Za-z0-9]/.test(slug);
  return prefix + (isNothing ? digest(tool) : shorten(slug, tool, longestName - prefix.length));
}

/** At most 32 of `[a-z0-9_-]`. Names that differ only in other characters have the same slug. */
export function serverSlug(server: string): string {
  const slug = server
    .toLowerCase()
    .replaceAll(/[^a-z0-9_-]+/g, "_")
    .replaceAll(/__+/g, "_")
    .replaceAll(/^_+|_+$/g, "");
  if (slug === "") return `server_${digest(server)}`;
  return shorten(slug, server, longestServer);
}

/** The pattern for all tools of a server. */
export function serverPattern(server: string): string {
  return `mcp__${serverSlug(server)}__*`;
}

/** The beginning, and a digest of the whole: long names with the same beginning stay different. */
function shorten(slug: string, whole: string, longest: number): string {
  if (slug.length <= longest) return slug;
  return `${slug.slice(0, longest - 9).replace(/_+$/, "")}_${digest(whole)}`;
}

function digest(text: string): string {
  return createHash("sha256").update(text).digest("hex").slice(0, 8);
}
