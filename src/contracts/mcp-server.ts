import { createHash } from "node:crypto";

/**
 * How an MCP server is reached. Variables (`${NAME}`, `${NAME:-default}`) stay as they are written
 * until it is started: a profile that is shown, stored or hashed holds no secret.
 */
export type McpServer = StdioServer | HttpServer;

interface Common {
  /** Names of its tools that may be called, `*` at the end allowed; absent: all of them. */
  readonly tools?: readonly string[];
  /** One process for everybody, or one for each delegation that uses it. */
  readonly sharing?: "shared" | "delegation";
  readonly timeoutMs?: number;
  readonly disabled?: boolean;
}

export interface StdioServer extends Common {
  readonly kind: "stdio";
  readonly command: string;
  readonly args?: readonly string[];
  /** All it gets of the environment, beside what every program needs (PATH, HOME, LANG, TMPDIR). */
  readonly env?: Readonly<Record<string, string>>;
  /** Where it starts; absent: in an empty private folder. From a project's file it is ignored. */
  readonly cwd?: string;
  /** The person's own file or program declares it. Never read from a file: set where one is read. */
  readonly isOwn?: true;
}

export interface HttpServer extends Common {
  readonly kind: "http";
  readonly url: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/** Whether two declarations say the same. */
export function isSameServer(one: McpServer | undefined, other: McpServer | undefined): boolean {
  const text = (server: McpServer | undefined): string | undefined =>
    JSON.stringify(server === undefined ? server : { ...server, isOwn: undefined });
  return text(one) === text(other);
}

const longestName = 64;
const longestServer = 32;

/**
 * The name under which agents, contracts and rules know a server's tool: `mcp__server__tool`. The
 * server's part never holds two underscores in a row nor ends in one, so the name falls apart in
 * one way only and a rule for `mcp__server__*` is about that server alone.
 */
export function mcpToolName(server: string, tool: string): string {
  const prefix = `mcp__${serverSlug(server)}__`;
  const slug = tool.replaceAll(/[^A-Za-z0-9_-]/g, "_");
  const isNothing = !/[A-Za-z0-9]/.test(slug);
  return prefix + (isNothing ? digest(tool) : shorten(slug, tool, longestName - prefix.length));
}

/** `[a-z0-9_-]`, at most 32 of them. What differs only in other characters comes out the same. */
export function serverSlug(server: string): string {
  const slug = server
    .toLowerCase()
    .replaceAll(/[^a-z0-9_-]+/g, "_")
    .replaceAll(/__+/g, "_")
    .replaceAll(/^_+|_+$/g, "");
  if (slug === "") return `server_${digest(server)}`;
  return shorten(slug, server, longestServer);
}

/** What stands for all tools of a server. */
export function serverPattern(server: string): string {
  return `mcp__${serverSlug(server)}__*`;
}

/** Keeps the beginning; the digest of the whole tells long names apart that begin alike. */
function shorten(slug: string, whole: string, longest: number): string {
  if (slug.length <= longest) return slug;
  return `${slug.slice(0, longest - 9).replace(/_+$/, "")}_${digest(whole)}`;
}

function digest(text: string): string {
  return createHash("sha256").update(text).digest("hex").slice(0, 8);
}
