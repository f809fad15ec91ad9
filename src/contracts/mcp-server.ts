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
