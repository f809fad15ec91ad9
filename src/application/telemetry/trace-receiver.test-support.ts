/** Something that takes traces as a collector does: OTLP over HTTP, as JSON. */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

export interface ReceivedSpan {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId: string | undefined;
  readonly name: string;
  readonly kind: number;
  readonly startMs: number;
  readonly endMs: number;
  readonly attributes: Readonly<Record<string, unknown>>;
  readonly events: readonly {
    readonly name: string;
    readonly attributes: Readonly<Record<string, unknown>>;
  }[];
  readonly isError: boolean;
  readonly resource: Readonly<Record<string, unknown>>;
}

export interface TraceReceiver extends AsyncDisposable {
  readonly endpoint: string;
  readonly spans: ReceivedSpan[];
  readonly headers: Record<string, unknown>[];
}

export async function openReceiver(status = 200): Promise<TraceReceiver> {
  const spans: ReceivedSpan[] = [];
  const headers: Record<string, unknown>[] = [];
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      headers.push({ ...request.headers, path: request.url });
      if (status === 200) spans.push(...read(JSON.parse(Buffer.concat(chunks).toString())));
      response.writeHead(status, { "content-type": "application/json" }).end("{}");
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    endpoint: `http://127.0.0.1:${port}`,
    spans,
    headers,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

interface Value {
  readonly stringValue?: string;
  readonly intValue?: number | string;
  readonly doubleValue?: number;
  readonly arrayValue?: { readonly values: readonly Value[] };
}
type Pairs = readonly { readonly key: string; readonly value: Value }[];

interface Message {
  readonly resourceSpans: readonly {
    readonly resource: { readonly attributes: Pairs };
    readonly scopeSpans: readonly { readonly spans: readonly Wire[] }[];
  }[];
}

interface Wire {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly name: string;
  readonly kind: number;
  readonly startTimeUnixNano: string;
  readonly endTimeUnixNano: string;
  readonly attributes: Pairs;
  readonly events: readonly { readonly name: string; readonly attributes: Pairs }[];
  readonly status: { readonly code: number };
}

function read(message: Message): ReceivedSpan[] {
  return message.resourceSpans.flatMap(({ resource, scopeSpans }) =>
    scopeSpans.flatMap(({ spans }) =>
      spans.map((span) => ({
        traceId: span.traceId,
        spanId: span.spanId,
        parentSpanId: span.parentSpanId || undefined,
        name: span.name,
        kind: span.kind,
        startMs: Number(BigInt(span.startTimeUnixNano) / 1_000_000n),
        endMs: Number(BigInt(span.endTimeUnixNano) / 1_000_000n),
        attributes: plain(span.attributes),
        events: span.events.map(({ name, attributes }) => {
          return { name, attributes: plain(attributes) };
        }),
        isError: span.status.code === 2,
        resource: plain(resource.attributes),
      })),
    ),
  );
}

function plain(pairs: Pairs): Record<string, unknown> {
  return Object.fromEntries(pairs.map(({ key, value }) => [key, plainValue(value)]));
}

function plainValue(value: Value): unknown {
  if (value.arrayValue) return value.arrayValue.values.map(plainValue);
  return value.stringValue ?? value.doubleValue ?? Number(value.intValue);
}
