import type { ServerResponse } from "node:http";
import type { Principal, Role } from "../../control/records/principal.ts";

/**
 * Something that answers by itself behind the same guard as the routes: streams of events, metrics,
 * the MCP endpoint. When it is called, host, origin, token, role and rates have been checked.
 */
export type Mount = (
  request: Request,
  principal: Principal,
  context: MountContext,
) => Promise<Response>;

export interface MountContext {
  /** The parameters of the path, decoded. */
  readonly params: Readonly<Record<string, string>>;
  /**
   * The connection itself, for those who have to see whether a client takes what it is sent; absent
   * where there is none, as in a test without a socket.
   */
  readonly outgoing: ServerResponse | undefined;
  /** It comes from the page, with the page's cookie: a person looks at it. */
  readonly isPage: boolean;
  /** Aborts when the client is gone, or the server stops. */
  readonly signal: AbortSignal;
}

/** What else a server can have; each is there when it is given. */
export interface Mounts {
  /** The Model Context Protocol, at `/mcp`. */
  readonly mcp?: Mount | undefined;
  /** Events as they come: all, those of a run, those of a delegation. */
  readonly events?: Mount | undefined;
  readonly inboxEvents?: Mount | undefined;
  /** For Prometheus, at `/metrics`. */
  readonly metrics?: Mount | undefined;
}

export interface MountPoint {
  readonly name: keyof Mounts;
  readonly methods: readonly ("GET" | "POST" | "DELETE")[];
  readonly path: string;
  readonly role: Role;
  readonly mostBodyBytes: number;
  readonly handle: Mount;
}

/**
 * Where events are streamed. An address may have a route as well, which lists them: it is a stream
 * for whoever accepts `text/event-stream`, and the list for everybody else.
 */
export const streams = [
  { name: "events", path: "/events", summary: "All events, as they come" },
  { name: "events", path: "/runs/:runId/events", summary: "The events of a run, as they come" },
  {
    name: "events",
    path: "/delegations/:delegationId/events",
    summary: "The events of a delegation, as they come",
  },
  { name: "inboxEvents", path: "/inbox/events", summary: "What comes into the inbox, as it comes" },
] as const;

const points: readonly Omit<MountPoint, "handle">[] = [
  {
    name: "mcp",
    methods: ["GET", "POST", "DELETE"],
    path: "/mcp",
    role: "viewer",
    mostBodyBytes: 4 * 1024 * 1024,
  },
  ...streams.map(({ name, path }) => reading(name, `/api/v1${path}`)),
  reading("metrics", "/metrics"),
];

/** Those that were given. */
export function mountPoints(mounts: Mounts): readonly MountPoint[] {
  return points.flatMap((point) => {
    const handle = mounts[point.name];
    return handle === undefined ? [] : [{ ...point, handle }];
  });
}

function reading(name: keyof Mounts, path: string): Omit<MountPoint, "handle"> {
  return { name, methods: ["GET"], path, role: "viewer", mostBodyBytes: 0 };
}
