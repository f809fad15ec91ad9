import { createHash } from "node:crypto";
import type { Clock, Timer } from "../../ports/clock.ts";
import type { DelegationMark } from "../../workspaces/delegation-mark.ts";
import type { ServerPlace } from "./contain-server.ts";
import type { ExpandedServer } from "./expand-server.ts";
import { FailureLimit, McpConnection } from "./mcp-connection.ts";

/** A connection and its users. */
export interface ServerLine {
  readonly connection: McpConnection;
  readonly users: Set<object>;
  /** Used by one delegation alone, and closed with it. */
  readonly isOwn: boolean;
  readonly key: string;
  idle?: Timer;
}

export interface LineRequest {
  readonly name: string;
  readonly server: ExpandedServer;
  /** The delegation that has the server to itself; null: the server is shared. */
  readonly owner: string | null;
  readonly startTimeoutMs: number;
}

export interface LineOptions {
  readonly version: string;
  readonly place: ServerPlace;
  readonly idleMs: number;
  readonly mark: DelegationMark | undefined;
  readonly clock: Clock;
}

/** The connections of this process: one for each definition, or for each definition and owner. */
export class ServerLines {
  readonly #options: LineOptions;
  readonly #lines = new Map<string, ServerLine>();
  readonly #failures: FailureLimit;
  readonly #ending = new Set<Promise<void>>();

  constructor(options: LineOptions) {
    this.#options = options;
    this.#failures = new FailureLimit(options.clock);
  }

  /** Finds or makes a line; the server is not started by this. */
  find({ name, server, owner, startTimeoutMs }: LineRequest): ServerLine {
    const definition = hash([name, server]);
    const key = owner === null ? definition : hash([definition, owner]);
    const known = this.#lines.get(key);
    if (known !== undefined) return known;
    const { clock, place, mark, version } = this.#options;
    const connection = new McpConnection({
      name,
      key: definition,
      server: owner === null ? server : marked(server, mark?.(owner)),
      version,
      place,
      startTimeoutMs,
      failures: this.#failures,
      clock,
    });
    const line = { key, connection, users: new Set<object>(), isOwn: owner !== null };
    this.#lines.set(key, line);
    return line;
  }

  join(line: ServerLine, user: object): void {
    line.idle?.cancel();
    line.users.add(user);
  }

  /** When the last user leaves, the line is closed: at once if no other delegation can use it, else after `idleMs`. */
  async leave(line: ServerLine, user: object, isUseless: boolean): Promise<void> {
    line.users.delete(user);
    if (line.users.size > 0) return;
    if (line.isOwn || isUseless) return this.#end(line);
    line.idle?.cancel();
    const { clock, idleMs } = this.#options;
    line.idle = clock.after(idleMs, () => void this.#end(line)).unref();
  }

  async close(): Promise<void> {
    for (const line of this.#lines.values()) void this.#end(line);
    await Promise.all(this.#ending);
  }

  #end(line: ServerLine): Promise<void> {
    line.idle?.cancel();
    if (this.#lines.get(line.key) === line) this.#lines.delete(line.key);
    const ending = line.connection.close().finally(() => this.#ending.delete(ending));
    this.#ending.add(ending);
    return ending;
  }
}

/** Only servers of a single delegation are marked: a shared one may outlive the delegation. */
function marked(server: ExpandedServer, mark: Readonly<Record<string, string>> = {}) {
  return server.kind === "stdio" ? { ...server, env: { ...server.env, ...mark } } : server;
}

function hash(definition: unknown): string {
  return createHash("sha256").update(JSON.stringify(definition)).digest("hex");
}
