import type { ServerResponse } from "node:http";
import type { Principal, Role } from "../../control/records/principal.ts";

/**
 * A handler beside the routes: event streams, metrics, the MCP endpoint. Host, origin, token, role
 * and rate have been checked before it is called.
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
   * The connection, for streams that watch whether a client reads; undefined in tests without a
   * socket.
   */
  readonly outgoing: ServerResponse | undefined;
  /** The request came from the dashboard, with its cookie: a person is there. */
  readonly isPage: boolean;
  /** Aborts when the client disconnects or the server stops. */
  readonly signal: AbortSignal;
}

/** Optional handlers of a server. */
export interface Mounts {
  /** The Model Context Protocol, at `/mcp`. */
  readonly mcp?: Mount | undefined;
  /** Event streams: of everything, of a run, of a delegation. */
  readonly events?: Mount | undefined;
  readonly inboxEvents?: Mount | undefined;
  /** The endpoint for Prometheus, at `/metrics`. */
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
 * The paths of event streams. Some are routes as well: with `Accept: text/event-stream` a client
 * gets the stream, otherwise the list.
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

/** The mounts that were given. */
export function mountPoints(mounts: Mounts): readonly MountPoint[] {
  return points.flatMap((point) => {
    const handle = mounts[point.name];
    return handle === undefined ? [] : [{ ...point, handle }];
  });
}

function reading(name: keyof Mounts, path: string): Omit<MountPoint, "handle"> {
  return { name, methods: ["GET"], path, role: "viewer", mostBodyBytes: 0 };
}
