import type { Tracer } from "@opentelemetry/api";
import type { Clock } from "../../ports/clock.ts";
import { SpanIds } from "./span-tree.ts";
import { type Environment, endpointOf } from "./start-telemetry.ts";

export interface Exporter {
  readonly tracer: Tracer;
  readonly ids: SpanIds;
  /** Sends what is left, and waits no longer for that than a person would. */
  close(): Promise<void>;
}

interface ExporterParts {
  readonly environment: Environment;
  readonly version: string;
  readonly say: (sentence: string) => void;
  readonly clock: Clock;
}

const closingMs = 3000;

/**
 * Sends traces by OTLP over HTTP, as JSON. The packages that do so are no dependency of ours: who
 * wants traces installs them, and an error says how when they are missing. Work continues without traces.
 */
export async function startExporter(
  { clock, environment, say, version }: ExporterParts,
  load = loadPackages,
): Promise<Exporter | undefined> {
  const url = endpointOf(environment);
  if (url === undefined) return undefined;
  if (!URL.canParse(url)) {
    say("Traces are not sent: OTEL_EXPORTER_OTLP_ENDPOINT is no address. Take http://host:4318.");
    return undefined;
  }
  const packages = await load().catch((error: unknown) => {
    if ((error as { code?: unknown }).code !== "ERR_MODULE_NOT_FOUND") throw error;
    return undefined;
  });
  if (packages === undefined) {
    say(
      `Traces are not sent: install what sends them with npm install ${packageNames.join(" ")}, or unset OTEL_EXPORTER_OTLP_ENDPOINT.`,
    );
    return undefined;
  }
  const { sdk, otlp, resources } = packages;
  const ids = new SpanIds();
  const exporter = new otlp.OTLPTraceExporter({
    url,
    headers: {
      ...readPairs(environment["OTEL_EXPORTER_OTLP_HEADERS"]),
      ...readPairs(environment["OTEL_EXPORTER_OTLP_TRACES_HEADERS"]),
    },
  });
  const provider = new sdk.BasicTracerProvider({
    idGenerator: ids,
    resource: resources.defaultResource().merge(
      resources.resourceFromAttributes({
        "service.name": "mandate",
        "service.version": version,
        ...readPairs(environment["OTEL_RESOURCE_ATTRIBUTES"]),
        ...(environment["OTEL_SERVICE_NAME"] && {
          "service.name": environment["OTEL_SERVICE_NAME"],
        }),
      }),
    ),
    spanProcessors: [
      new sdk.BatchSpanProcessor(tellingOnce(exporter, url, say), {
        // A run of a thousand children ends all at once.
        maxQueueSize: 20_000,
        scheduledDelayMillis: 1000,
      }),
    ],
  });
  return {
    tracer: provider.getTracer("mandate", version),
    ids,
    async close() {
      const { promise, resolve } = Promise.withResolvers<void>();
      const timer = clock.after(closingMs, resolve);
      await Promise.race([provider.shutdown().catch(() => undefined), promise]);
      timer.cancel();
    },
  };
}

const packageNames = [
  "@opentelemetry/sdk-trace-base",
  "@opentelemetry/exporter-trace-otlp-http",
  "@opentelemetry/resources",
] as const;

interface Packages {
  readonly sdk: typeof import("@opentelemetry/sdk-trace-base");
  readonly otlp: typeof import("@opentelemetry/exporter-trace-otlp-http");
  readonly resources: typeof import("@opentelemetry/resources");
}

async function loadPackages(): Promise<Packages> {
  const [sdk, otlp, resources] = await Promise.all([
    import("@opentelemetry/sdk-trace-base"),
    import("@opentelemetry/exporter-trace-otlp-http"),
    import("@opentelemetry/resources"),
  ]);
  return { sdk, otlp, resources };
}

type SpanExporter = import("@opentelemetry/sdk-trace-base").SpanExporter;

/** Missing traces go unnoticed without a message. */
function tellingOnce(
  exporter: SpanExporter,
  url: string,
  say: (sentence: string) => void,
): SpanExporter {
  let isTold = false;
  // What else an address can hold is for the collector.
  const { origin, pathname } = new URL(url);
  return {
    export(spans, done) {
      exporter.export(spans, (result) => {
        if (result.code !== 0 && !isTold) {
          isTold = true;
          const why = result.error?.message ?? "no reason given";
          say(
            `Traces could not be sent to ${origin}${pathname} (${why}). Work continues without them.`,
          );
        }
        done(result);
      });
    },
    forceFlush: () => exporter.forceFlush?.() ?? Promise.resolve(),
    shutdown: () => exporter.shutdown(),
  };
}

/** `key=value,other=value`, as OpenTelemetry writes lists in variables. */
function readPairs(text: string | undefined): Record<string, string> {
  const pairs = (text ?? "").split(",").flatMap((pair): [string, string][] => {
    const equals = pair.indexOf("=");
    const key = pair.slice(0, Math.max(0, equals)).trim();
    if (key === "" || key === "__proto__") return [];
    return [[key, decode(pair.slice(equals + 1).trim())]];
  });
  return Object.fromEntries(pairs);
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
