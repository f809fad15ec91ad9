import assert from "node:assert/strict";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, it, onTestFinished } from "vitest";
import { systemClock } from "../../ports/clock.ts";
import { ManualClock } from "../../testing/manual-clock.ts";
import { startExporter } from "./start-exporter.ts";
import { endpointOf } from "./start-telemetry.ts";

describe("the endpoint of traces", () => {
  it.each<[what: string, environment: Record<string, string>, endpoint: string | undefined]>([
    ["nothing is said", {}, undefined],
    ["it is empty", { OTEL_EXPORTER_OTLP_ENDPOINT: "" }, undefined],
    [
      "one is shared by all signals",
      { OTEL_EXPORTER_OTLP_ENDPOINT: "http://c:4318/" },
      "http://c:4318/v1/traces",
    ],
    [
      "traces have their own, which is taken as it is",
      { OTEL_EXPORTER_OTLP_ENDPOINT: "http://a", OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: "http://b/t" },
      "http://b/t",
    ],
    [
      "the SDK is switched off",
      { OTEL_EXPORTER_OTLP_ENDPOINT: "http://a", OTEL_SDK_DISABLED: "TRUE" },
      undefined,
    ],
    [
      "traces go elsewhere",
      { OTEL_EXPORTER_OTLP_ENDPOINT: "http://a", OTEL_TRACES_EXPORTER: "none" },
      undefined,
    ],
  ])("when %s", (_what, environment, endpoint) => {
    assert.equal(endpointOf(environment), endpoint);
  });
});

describe("starting the exporter", () => {
  const environment = { OTEL_EXPORTER_OTLP_ENDPOINT: "http://127.0.0.1:9" };
  const common = { version: "1", clock: systemClock };

  it("says how to install what is missing, and goes on without", async () => {
    const said: string[] = [];
    const missing = (): Promise<never> =>
      Promise.reject(Object.assign(new Error("no such package"), { code: "ERR_MODULE_NOT_FOUND" }));
    const started = await startExporter(
      { ...common, environment, say: (line) => said.push(line) },
      missing,
    );
    assert.equal(started, undefined);
    assert.equal(said.length, 1);
    assert.match(said[0] ?? "", /npm install @opentelemetry\/sdk-trace-base @opentelemetry\/exp/);
  });

  it("refuses what is no address in a sentence", async () => {
    const said: string[] = [];
    const odd = { OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: "collector" };
    const parts = { ...common, environment: odd, say: (line: string) => void said.push(line) };
    assert.equal(await startExporter(parts), undefined);
    assert.match(said[0] ?? "", /is no address/);
  });

  it("is closed in time when nobody is there to take anything", async () => {
    const asked = Promise.withResolvers<void>();
    const silent = createServer(() => asked.resolve());
    await new Promise<void>((resolve) => silent.listen(0, "127.0.0.1", resolve));
    onTestFinished(() => {
      silent.closeAllConnections();
      silent.close();
    });
    const { port } = silent.address() as AddressInfo;
    const clock = new ManualClock();
    const exporter = await startExporter({
      ...{ version: "1", clock, say: () => undefined },
      environment: { OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${port}` },
    });
    exporter?.tracer.startSpan("lost").end();
    let isClosed = false;
    const closing = exporter?.close().then(() => {
      isClosed = true;
    });
    await asked.promise;
    await clock.advance(2999);
    assert.equal(isClosed, false);
    await clock.advance(1);
    await closing;
  });
});
