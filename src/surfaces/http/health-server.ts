import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { type AddressInfo, isIP } from "node:net";
import { type Clock, within } from "../../ports/clock.ts";
import type { RecordStore } from "../../ports/record-store.ts";
import { isLoopback } from "./allowed-hosts.ts";
import { listen } from "./listen.ts";
import type { MetricsFormat } from "./metrics/families.ts";
import { formatFor } from "./metrics/metrics.ts";

export interface HealthServerOptions {
  /** 0: any free port. */
  readonly port: number;
  /** The address to listen on; absent: loopback. */
  readonly hostname?: string | undefined;
  readonly clock: Clock;
  /** Every store must answer before this process counts as ready. */
  readonly stores: readonly Pick<RecordStore, "readRecord">[];
  readonly isStopping: () => boolean;
  readonly metrics: (format: MetricsFormat) => Promise<string>;
}

export interface HealthServer {
  readonly port: number;
  close(): Promise<void>;
}

const paths = ["/healthz", "/readyz", "/health", "/metrics"];

/** How long a probe waits for the database. */
const patienceMs = 2000;

/**
 * Probes and metrics without a token, for orchestrators and scrapers: `/healthz` (this process
 * answers), `/readyz` (it takes work, and its database answers), `/metrics`. Read-only, and on a
 * port of its own, so that opening it opens nothing else.
 */
export async function startHealthServer(options: HealthServerOptions): Promise<HealthServer> {
  const { hostname = "127.0.0.1", port } = options;
  const readiness = new Readiness(options);
  const metrics = onceAtATime(options.metrics);
  const server = createServer({ headersTimeout: 5000, requestTimeout: 5000 });
  server.maxConnections = 100;
  server.on("request", (request, response) => {
    answer(request, { ...options, metrics }, readiness)
      .catch((): Answer => [500, json({ status: "error" })])
      .then(([status, body]) => send(response, status, body));
  });
  await listen(server, { port, hostname, option: "--health" });
  return {
    port: (server.address() as AddressInfo).port,
    async close() {
      const closed = once(server, "close");
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}

interface Body {
  readonly type: string;
  readonly text: string;
}

type Answer = readonly [status: number, body: Body];

async function answer(
  { headers, method, url = "/" }: IncomingMessage,
  { hostname = "127.0.0.1", isStopping, metrics }: HealthServerOptions,
  readiness: Readiness,
): Promise<Answer> {
  if (isLoopback(hostname) && !isLocalName(headers.host ?? "")) {
    return [403, json({ status: "refused" })];
  }
  const [path] = url.split("?");
  if (!paths.includes(path ?? "")) return [404, json({ status: "not-found" })];
  if (method !== "GET" && method !== "HEAD") return [405, json({ status: "method-not-allowed" })];
  if (path === "/healthz") return [200, json({ status: "alive" })];
  if (path === "/metrics") {
    const { format, type } = formatFor(headers.accept ?? "");
    return [200, { type, text: await metrics(format) }];
  }
  // `/health` is the older name of `/readyz`.
  const reason = isStopping() ? "stopping" : await readiness.problem();
  return reason === undefined
    ? [200, json({ status: "ready" })]
    : [503, json({ status: "not-ready", reason })];
}

function send(response: ServerResponse, status: number, { text, type }: Body): void {
  response.writeHead(status, {
    "content-type": type,
    "cache-control": "no-store",
    "x-content-type-options": "nosniff",
    ...(status === 405 && { allow: "GET, HEAD" }),
  });
  response.end(response.req.method === "HEAD" ? undefined : text);
}

function json(value: unknown): Body {
  return { type: "application/json", text: JSON.stringify(value) };
}

/** A page of another site can reach loopback under a name of its own, and reads nothing that way. */
function isLocalName(host: string): boolean {
  const name = host.replace(/:\d+$/, "").replace(/^\[(.*)\]$/, "$1");
  return name === "localhost" || isIP(name) !== 0;
}

/** However many scrapers wait, the metrics of each format are collected once at a time. */
function onceAtATime(metrics: HealthServerOptions["metrics"]): HealthServerOptions["metrics"] {
  const collecting = new Map<MetricsFormat, Promise<string>>();
  return (format) => {
    const known = collecting.get(format);
    if (known !== undefined) return known;
    const text = metrics(format).finally(() => collecting.delete(format));
    collecting.set(format, text);
    return text;
  };
}

/** Asks every database at most once at a time, however many probes wait. */
class Readiness {
  readonly #options: HealthServerOptions;
  #asking: Promise<unknown> | undefined;

  constructor(options: HealthServerOptions) {
    this.#options = options;
  }

  /** A code; undefined: every database answered in time. */
  async problem(): Promise<"database_timeout" | "database_error" | undefined> {
    const { clock, stores } = this.#options;
    this.#asking ??= Promise.all(
      stores.map((store) => store.readRecord("policy", "readiness")),
    ).finally(() => (this.#asking = undefined));
    const asked = this.#asking.then(
      () => "answered" as const,
      () => "database_error" as const,
    );
    const answer = (await within(clock, patienceMs, asked)) ?? "database_timeout";
    return answer === "answered" ? undefined : answer;
  }
}
