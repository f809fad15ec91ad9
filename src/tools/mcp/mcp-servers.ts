/**
 * The MCP servers that agents use: which are open, and their tools as tools of agents. Connections,
 * processes and the protocol are the other files of this folder, which may import what tools may.
 */
import { z } from "zod";
import { fullExposure } from "../../contracts/exposure.ts";
import { type McpServer, type ServerSandbox, serverSlug } from "../../contracts/mcp-server.ts";
import type { Selection } from "../../contracts/selection.ts";
import { type Clock, systemClock } from "../../ports/clock.ts";
import { messageOf } from "../../ports/message-of.ts";
import { headOf } from "../../text.ts";
import type { DelegationMark } from "../../workspaces/delegation-mark.ts";
import type { Tool } from "../tool.ts";
import { type AcceptedTool, acceptTools, measureJson } from "./accept-tools.ts";
import type { ServerContainment } from "./contain-server.ts";
import { type ExpandedServer, expandServer } from "./expand-server.ts";
import type { McpConnection } from "./mcp-connection.ts";
import { McpUnavailable } from "./open-session.ts";
import { type ServerLine, ServerLines } from "./server-lines.ts";

export interface McpScope {
  readonly delegationId: string;
  /** Absolute; null where the delegation has no workspace. */
  readonly workspace: string | null;
  /** The person's own configuration declares the server, not a file of the project. */
  readonly isOwn: boolean;
  /** The hosts that the contract grants, for servers in a sandbox; absent: none. */
  readonly network?: Selection;
}

/** A remark about a server for people, which is no failure. */
export interface McpNotice {
  readonly server: string;
  readonly delegationId: string;
  readonly text: string;
}

export interface McpServersOptions {
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly version: string;
  /** Below this folder each process gets an empty one to start in. */
  readonly folder: string;
  /** For servers that are declared with a sandbox; absent: those cannot be started. */
  readonly containment?: ServerContainment;
  readonly startTimeoutMs?: number;
  readonly callTimeoutMs?: number;
  /** How long a shared server is kept when it is not used. */
  readonly idleMs?: number;
  /** Says of a process whose it is, where it is one delegation's alone. */
  readonly mark?: DelegationMark | undefined;
  readonly clock?: Clock;
  onNotice?(notice: McpNotice): void;
}

/** The use of one server by one delegation. */
interface Use {
  readonly name: string;
  readonly line: ServerLine;
  readonly connection: McpConnection;
  /** The names of its tools that may be called. */
  readonly patterns: readonly string[] | undefined;
  readonly timeoutMs: number;
  tools?: Promise<readonly Tool[]>;
  isOver: boolean;
}

/**
 * The MCP servers of this process: started when first opened, shared where the definition is the
 * same to the letter (folder and values of variables included), ended when they are not needed.
 */
export class McpServers {
  readonly #options: McpServersOptions;
  readonly #lines: ServerLines;
  /** By delegation, then by the server's part of its tools' names. */
  readonly #uses = new Map<string, Map<string, Use>>();
  #isClosed = false;

  constructor(options: McpServersOptions) {
    this.#options = options;
    const { version, folder, containment, mark, idleMs = 60_000, clock = systemClock } = options;
    const place = { folder, containment };
    this.#lines = new ServerLines({ version, place, idleMs, mark, clock });
  }

  /**
   * The server's tools, for this delegation alone; `McpUnavailable` where it cannot be had. Each caller that
   * opens it again gets the same ones: what was once described to a model stays so for it, whatever
   * the server says later.
   */
  async open(name: string, server: McpServer, scope: McpScope): Promise<readonly Tool[]> {
    if (this.#isClosed) throw new McpUnavailable(name, "cannot be opened: the runtime is closing.");
    if (server.disabled) throw new McpUnavailable(name, "is disabled in its declaration.");
    const line = this.#lineFor(name, server, scope);
    const uses = this.#uses.get(scope.delegationId) ?? new Map<string, Use>();
    const slug = serverSlug(name);
    const known = uses.get(slug);
    if (known?.tools && isSame(known, name, line, server)) return known.tools;
    if (known !== undefined) {
      // Looking it up has made an unused line.
      void this.#lines.leave(line, scope, false);
      throw collision(known, name, slug);
    }
    const use: Use = {
      name,
      line,
      connection: line.connection,
      patterns: server.tools,
      timeoutMs: server.timeoutMs ?? this.#options.callTimeoutMs ?? 300_000,
      isOver: false,
    };
    this.#uses.set(scope.delegationId, uses.set(slug, use));
    this.#lines.join(line, use);
    use.tools = this.#offer(use, scope);
    try {
      return await use.tools;
    } catch (error) {
      if (uses.get(slug) === use) uses.delete(slug);
      if (uses.size === 0) this.#uses.delete(scope.delegationId);
      void this.#leave(use, true);
      throw error;
    }
  }

  /** Resolves when what only this delegation used has ended. */
  async release(delegationId: string): Promise<void> {
    const uses = [...(this.#uses.get(delegationId)?.values() ?? [])];
    this.#uses.delete(delegationId);
    await Promise.all(uses.map((use) => this.#leave(use, false)));
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    for (const uses of this.#uses.values()) for (const use of uses.values()) use.isOver = true;
    this.#uses.clear();
    await this.#lines.close();
  }

  async #offer(use: Use, { delegationId }: McpScope): Promise<readonly Tool[]> {
    const listed = await use.connection.listTools();
    if (use.isOver) throw new McpUnavailable(use.name, "was released while it started.");
    const { tools, notes } = acceptTools(use.name, listed.tools, use.patterns);
    const cut = listed.isCut ? [`Only its first ${listed.tools.length} tools are offered.`] : [];
    for (const text of [...notes, ...cut]) {
      this.#options.onNotice?.({ server: use.name, delegationId, text });
    }
    return tools.map((tool) => toTool(tool, use));
  }

  #lineFor(name: string, server: McpServer, scope: McpScope): ServerLine {
    const { environment, startTimeoutMs = 30_000 } = this.#options;
    const { delegationId, isOwn } = scope;
    const limited = isOwn ? { server, notes: [] } : limitProjectServer(server);
    for (const text of limited.notes) {
      this.#options.onNotice?.({ server: name, delegationId, text });
    }
    let expanded: ExpandedServer;
    try {
      expanded = expandServer(limited.server, { environment, ...scope });
    } catch (error) {
      throw new McpUnavailable(name, `cannot be started. ${messageOf(error)}`, { cause: error });
    }
    return this.#lines.find({
      name,
      server: expanded,
      owner: server.sharing === "delegation" ? scope.delegationId : null,
      // More time for a server includes its start.
      startTimeoutMs: Math.max(startTimeoutMs, server.timeoutMs ?? 0),
    });
  }

  async #leave(use: Use, hasFailed: boolean): Promise<void> {
    if (use.isOver) return;
    use.isOver = true;
    await this.#lines.leave(use.line, use, hasFailed);
  }
}

function isSame(use: Use, name: string, line: ServerLine, server: McpServer): boolean {
  const patterns = JSON.stringify(use.patterns) === JSON.stringify(server.tools);
  return use.name === name && use.line === line && patterns;
}

function collision(known: Use, name: string, slug: string): McpUnavailable {
  const other = known.name === name ? "another definition of it" : `"${known.name}"`;
  const names = `would give its tools the same names (mcp__${slug}__…)`;
  return new McpUnavailable(name, `${names} as ${other}. Rename one.`);
}

interface LimitedServer {
  readonly server: McpServer;
  /** Sentences about the settings of the server that do not count. */
  readonly notes: readonly string[];
}

/** Variables by which programs load code or find other programs, compared without case. */
const loaders = new RegExp(
  `^(?:${[
    "path|home|tmpdir|xdg_.*|shell|env|bash_env|ld_.*|dyld_.*|gconv_path",
    "node_.*|npm_.*|python.*|uv_.*|pip_.*|perl.*|ruby.*|gem_.*|bundle_.*|lua_.*|java_.*|_java_.*",
    "git_.*|ssh_askpass|editor|visual|pager|browser",
  ].join("|")})$`,
  "i",
);

/**
 * Restricts a server that a project's file declares. A person trusted the content of that file, not
 * what an agent writes into the workspace later: so the file cannot set the program's folder, nor
 * variables that say where programs look for code.
 */
export function limitProjectServer(server: McpServer): LimitedServer {
  if (server.kind !== "stdio") return { server, notes: [] };
  const { cwd, env, sandbox, ...rest } = server;
  const names = Object.keys(env ?? {});
  const ignored = names.filter((name) => loaders.test(name));
  const kept = Object.entries(env ?? {}).filter(([name]) => !loaders.test(name));
  const hidden = typeof sandbox === "object" && sandbox.read !== undefined;
  const notes = [
    ...(hidden ? ["Its sandbox.read is ignored"] : []),
    ...(cwd === undefined ? [] : ["Its cwd is ignored"]),
    ...ignored.map((name) => `Its env.${headOf(name, 40)} is ignored`),
  ].map((what) => `${what}: ${why}`);
  const limited = {
    ...rest,
    ...(env && { env: Object.fromEntries(kept) }),
    ...(sandbox !== undefined && { sandbox: withoutReading(sandbox) }),
  };
  return { server: limited, notes };
}

function withoutReading(sandbox: true | ServerSandbox): true | ServerSandbox {
  if (sandbox === true || sandbox.network === undefined) return true;
  return { network: sandbox.network };
}

const why =
  "a project's file does not say where a program starts or looks for code. Declare the server " +
  "under mcp.servers in your own configuration.";

/** The delegation that has the tool, and whether it still has the server. */
interface ToolHolder {
  readonly connection: McpConnection;
  readonly isOver: boolean;
  readonly timeoutMs: number;
}

/**
 * A server's tool as a tool of agents. The server's annotations decide whether calls run in parallel
 * and whether an interrupted call is repeated, never whether a call is allowed. A tool without
 * `readOnlyHint` counts as one that executes programs.
 */
function toTool(accepted: AcceptedTool, holder: ToolHolder): Tool {
  return {
    name: accepted.fullName,
    description: accepted.description,
    parameters: accepted.parameters,
    effect: accepted.isReadOnly ? "read" : "exec",
    // The annotations of the tool do not count: untrusted input and private data pass through a server.
    exposure: fullExposure,
    idempotent: accepted.isIdempotent,
    scopes: [],
    input: plainInput,
    execute(input, { signal }) {
      if (holder.isOver) {
        return { text: `${accepted.fullName} is no longer open.`, isError: true };
      }
      return holder.connection.call(accepted, input, { signal, timeoutMs: holder.timeoutMs });
    },
  };
}

const bounds = { bytes: 1024 * 1024, depth: 32 };

/**
 * The arguments of a server's tool: an object of bounded size. The server checks them against its own
 * schema; its patterns are untrusted and are not executed here.
 */
export const plainInput: z.ZodType<Record<string, unknown>> = z.custom<Record<string, unknown>>(
  (value) => problemOf(value) === undefined,
  { error: (issue) => `The input ${problemOf(issue.input) ?? "does not fit"}.` },
);

function problemOf(value: unknown): string | undefined {
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    return "is not an object";
  }
  return measureJson(value, bounds);
}
