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
