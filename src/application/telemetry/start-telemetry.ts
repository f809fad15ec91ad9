import type { Tracer } from "@opentelemetry/api";
import { type Clock, systemClock } from "../../ports/clock.ts";
import { messageOf } from "../../ports/message-of.ts";
import type { Store } from "../../ports/store.ts";

/** Where spans go; `false`: nowhere, whatever the environment says. */
export type Telemetry =
  | false
  | {
      /** The tracer of the program's own provider. */
      readonly tracer: Tracer;
      /** Include the content of messages and calls. */
      readonly capturesContent?: boolean;
    };

export interface TelemetryParts {
  readonly store: Pick<Store, "subscribe" | "readEvents" | "ownership">;
  readonly environment: Environment;
  readonly version: string;
  readonly telemetry?: Telemetry | undefined;
  readonly clock?: Clock;
  /** Tells a person something about the traces; a warning of the process unless said. */
  readonly say?: ((sentence: string) => void) | undefined;
}

export interface RunningTelemetry {
  /** After the store was closed, so that the last event is included. */
  close(): Promise<void>;
}

/**
 * Traces runs when that is wanted: a program that gave a tracer or registered a provider, or an
 * operator who named an endpoint. For everybody else nothing is loaded.
 */
export async function startTelemetry(parts: TelemetryParts): Promise<RunningTelemetry | undefined> {
  const { clock = systemClock, store, environment, telemetry, version } = parts;
  if (telemetry === false) return undefined;
  const capturesContent = telemetry?.capturesContent ?? wantsContent(environment);
  if (telemetry !== undefined || hasProvider()) {
    const { traceRuns } = await import("./trace-runs.ts");
    const tracer = telemetry?.tracer ?? (await registeredTracer(version));
    const stop = traceRuns(store, tracer, { capturesContent });
    // The program that registered the provider flushes it.
    return { close: async () => stop() };
  }
  if (endpointOf(environment) === undefined) return undefined;
  const { startExporter } = await import("./start-exporter.ts");
  const say = parts.say ?? ((sentence) => process.emitWarning(sentence));
  const starting = startExporter({ environment, version, say, clock });
  const exporter = await starting.catch((error: unknown) => {
    // No work depends on its traces.
    say(`Traces are not sent: what sends them could not be started (${messageOf(error)}).`);
    return undefined;
  });
  if (exporter === undefined) return undefined;
  const { traceRuns } = await import("./trace-runs.ts");
  const stop = traceRuns(store, exporter.tracer, { ids: exporter.ids, capturesContent });
  return {
    async close() {
      stop();
      await exporter.close();
    },
  };
}

/** Where the API keeps what was registered: looking there loads nothing. */
function hasProvider(): boolean {
  const key = Symbol.for("opentelemetry.js.api.1");
  const api = (globalThis as Record<symbol, { readonly trace?: unknown } | undefined>)[key];
  return api?.trace !== undefined;
}

async function registeredTracer(version: string): Promise<Tracer> {
  const { trace } = await import("@opentelemetry/api");
  return trace.getTracer("mandate", version);
}

function wantsContent(environment: Environment): boolean {
  const word = environment["OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"] ?? "";
  return ["true", "span_only", "span_and_event"].includes(word.trim().toLowerCase());
}

export type Environment = Readonly<Record<string, string | undefined>>;

/** The address for traces; undefined: none. */
export function endpointOf(environment: Environment): string | undefined {
  if (environment["OTEL_SDK_DISABLED"]?.toLowerCase() === "true") return undefined;
  const exporters = environment["OTEL_TRACES_EXPORTER"]?.split(",").map((word) => word.trim());
  if (exporters?.some((word) => word !== "") && !exporters.includes("otlp")) return undefined;
  const own = environment["OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"]?.trim();
  if (own) return own;
  const shared = environment["OTEL_EXPORTER_OTLP_ENDPOINT"]?.trim();
  return shared ? `${shared.replace(/\/+$/, "")}/v1/traces` : undefined;
}
