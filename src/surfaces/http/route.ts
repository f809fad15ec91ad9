import type { z } from "zod";
import type { Forks } from "../../application/replay.ts";
import type { AccessTokens } from "../../control/access/access-tokens.ts";
import type { Principal, Role } from "../../control/records/principal.ts";
import type { Runtime } from "../../runtime.ts";

/** What a server serves: one runtime, and where its callers may work. */
export interface Host {
  readonly runtime: Runtime;
  readonly tokens: AccessTokens;
  /** Real paths. Runs are started in these folders or below them, and nowhere else. */
  readonly workspaces: readonly string[];
  readonly startedAt: number;
  /** Those whose middleware the runtime has; absent: children of forked runs work anew. */
  readonly forks?: Forks | undefined;
  /** Where this server can be reached, for links. */
  readonly origin: string;
}

/**
 * One operation of the HTTP API. The handlers, the OpenAPI document, the checks of roles and the
 * limits are all made from these: what is not said here does not exist.
 */
export interface Route<Params = unknown, Query = unknown, Body = unknown, Reply = unknown> {
  /** Unique, for the OpenAPI document: `startRun`. */
  readonly id: string;
  readonly method: "GET" | "POST" | "PUT" | "DELETE";
  /** Below `/api/v1`, with `:name` for parameters: `/runs/:runId`. */
  readonly path: string;
  /** One line for people. */
  readonly summary: string;
  /** The group that it is listed under: `runs`. */
  readonly tag: string;
  /** The least role that may. */
  readonly role: Role;
  /** How many ordinary requests it stands for where requests are counted; 1 unless said. */
  readonly cost?: number;
  readonly params?: z.ZodType<Params>;
  readonly query?: z.ZodType<Query>;
  /** Only JSON objects are taken, and only where there is a schema. */
  readonly body?: z.ZodType<Body>;
  /** Null: there is no body. */
  readonly reply: z.ZodType<Reply> | null;
  /** False: the reply is a secret. It is kept nowhere, so a repeated request is a request anew. */
  readonly keepsReply?: false;
  /** What success answers with; 200 unless said. */
  readonly status?: 200 | 201 | 202 | 204;
  handle(request: RouteRequest<Params, Query, Body>, host: Host): Promise<Reply> | Reply;
}

export interface RouteRequest<Params, Query, Body> {
  readonly params: Params;
  readonly query: Query;
  readonly body: Body;
  readonly principal: Principal;
  /** It comes from the page: a person typed what it says. */
  readonly isPage: boolean;
  /** Aborts when the client is gone, or the server stops. */
  readonly signal: AbortSignal;
}

/** Keeps the types of the schemas; the table itself holds `Route`. */
export function defineRoute<Params, Query, Body, Reply>(
  route: Route<Params, Query, Body, Reply>,
): Route {
  return route as unknown as Route;
}
