import type { z } from "zod";
import type { Forks } from "../../application/replay.ts";
import type { AccessTokens } from "../../control/access/access-tokens.ts";
import type { Principal, Role } from "../../control/records/principal.ts";
import type { Runtime } from "../../runtime.ts";

/** What a server serves: one runtime, and the folders in which its callers may work. */
export interface Host {
  readonly runtime: Runtime;
  readonly tokens: AccessTokens;
  /** Real paths. Runs are started in these folders or below them, and nowhere else. */
  readonly workspaces: readonly string[];
  readonly startedAt: number;
  /**
   * The forks whose middleware the runtime has; absent: children of a forked run work again from
   * the start.
   */
  readonly forks?: Forks | undefined;
  /** The server's own origin, for links. */
  readonly origin: string;
}

/**
 * One operation of the HTTP API. Handlers, the OpenAPI document, role checks and limits all come
 * from these objects.
 */
export interface Route<Params = unknown, Query = unknown, Body = unknown, Reply = unknown> {
  /** Unique, for the OpenAPI document: `startRun`. */
  readonly id: string;
  readonly method: "GET" | "POST" | "PUT" | "DELETE";
  /** Below `/api/v1`, with `:name` for parameters: `/runs/:runId`. */
  readonly path: string;
  /** The sentence about the route, for people. */
  readonly summary: string;
  /** The group of the route in the document: `runs`. */
  readonly tag: string;
  /** The least role that may call it. */
  readonly role: Role;
  /** How many requests a call of the route counts as for the rate limit; default: 1. */
  readonly cost?: number;
  readonly params?: z.ZodType<Params>;
  readonly query?: z.ZodType<Query>;
  /** Absent: the operation takes no body. */
  readonly body?: z.ZodType<Body>;
  /** Null: the reply has no body. */
  readonly reply: z.ZodType<Reply> | null;
  /** False: the reply is a secret and is not stored, so idempotency keys have no effect. */
  readonly keepsReply?: false;
  /** The status of success; default: 200. */
  readonly status?: 200 | 201 | 202 | 204;
  handle(
    request: RouteRequest<Params, Query, Body>,
    host: Host,
  ): Promise<NoInfer<Reply>> | NoInfer<Reply>;
}

export interface RouteRequest<Params, Query, Body> {
  readonly params: Params;
  readonly query: Query;
  readonly body: Body;
  readonly principal: Principal;
  /** The request came from the dashboard: a person typed its text. */
  readonly isPage: boolean;
  /** Aborts when the client disconnects or the server stops. */
  readonly signal: AbortSignal;
}

/** A route that knows what its operation takes and returns: the typed client is made from it. */
export interface DefinedRoute<Id extends string, Input, Reply> extends Route {
  readonly id: Id;
  /** Types alone: no route has this field. */
  readonly operation?: { readonly input: Input; readonly reply: Reply };
}

/** What a schema gives; without a schema nothing is taken or returned. */
type Given<Part, Nothing> = unknown extends Part ? Nothing : Part;

type Defined<Id extends string, Params, Query, Body, Reply> = DefinedRoute<
  Id,
  Given<Params, object> & Given<Query, object> & Given<Body, object>,
  Given<Reply, null>
>;

/** Checks a handler against its schemas. */
export function defineRoute<const Id extends string, Params, Query, Body, Reply>(
  route: Route<Params, Query, Body, Reply> & { readonly id: Id },
): Defined<Id, Params, Query, Body, Reply> {
  return route as unknown as Defined<Id, Params, Query, Body, Reply>;
}
