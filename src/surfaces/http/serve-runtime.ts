import { productVersion } from "../../product-version.ts";
import type { McpHttpHandler } from "../mcp/http/mcp-http-handler.ts";
import { startHealthServer } from "./health-server.ts";
import { FleetMetrics, Metrics } from "./metrics/metrics.ts";
import { routes } from "./routes/all-routes.ts";
import { type RunningServer, type ServerOptions, startServer } from "./serve.ts";
import { EventHub } from "./streams/event-hub.ts";
import { eventStreams } from "./streams/event-stream.ts";
import type { DeltaHub } from "./streams/sse-deltas.ts";

export interface ServeRuntimeOptions
  extends Pick<
    ServerOptions,
    | "host"
    | "port"
    | "hostname"
    | "allowedHosts"
    | "staticFiles"
    | "log"
    | "timeouts"
    | "pageKey"
    | "linkHint"
  > {
  /** Where probes and metrics are served without a token; absent: nowhere. */
  readonly health?: { readonly port: number; readonly hostname?: string | undefined } | undefined;
  /** Streams model output; its `hear` is the runtime's `onDelta`. */
  readonly deltas?: DeltaHub | undefined;
}

/** Serves a runtime at one address: API, streams, MCP and metrics. */
export async function serveRuntime(
  options: ServeRuntimeOptions,
): Promise<RunningServer & { readonly healthPort?: number }> {
  const { deltas, host } = options;
  const { runtime, workspaces } = host;
  const log = options.log ?? ((line) => void process.stderr.write(`${line}\n`));
  const hub = new EventHub(runtime.store, { deltas, clock: runtime.clock });
  const streams = eventStreams(hub, () => runtime.attend());
  const metrics = new Metrics(hub, runtime.store, productVersion, new FleetMetrics(runtime));
  let mcp: Promise<McpHttpHandler> | undefined;
  const server = await startServer({
    ...options,
    log,
    routes,
    events: streams.events,
    inboxEvents: streams.inbox,
    metrics: metrics.mount,
    async mcp(request, principal) {
      // Loaded with the first MCP request, since the SDK is large.
      mcp ??= import("../mcp/http/serve-mandate.ts").then(({ serveMandate }) =>
        serveMandate({ runtime, workspaces, onError: (error) => log(`mandate serve: ${error}`) }),
      );
      return (await mcp).handle(request, principal);
    },
    onRequest: (operation, status, ms) => metrics.countRequest(operation, status, ms),
  }).catch((error) => {
    metrics.close();
    hub.close();
    throw error;
  });
  let isStopping = false;
  const health =
    options.health &&
    (await startHealthServer({
      ...options.health,
      clock: runtime.clock,
      stores: [runtime.store],
      isStopping: () => isStopping,
      metrics: (format) => metrics.render(format),
    }).catch(async (error) => {
      await server.close(0);
      metrics.close();
      hub.close();
      throw error;
    }));
  return {
    ...server,
    ...(health && { healthPort: health.port }),
    async close(graceMs) {
      isStopping = true;
      // Closing the sessions ends their streams, so that no connection must be cut.
      const ending = mcp?.then((handler) => handler.close());
      await server.close(graceMs);
      await ending;
      await health?.close();
      metrics.close();
      hub.close();
    },
  };
}
