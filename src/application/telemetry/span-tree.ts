import { createHash, randomBytes } from "node:crypto";
import {
  type Attributes,
  type Context,
  ROOT_CONTEXT,
  type Span,
  type SpanKind,
  SpanStatusCode,
  TraceFlags,
  type Tracer,
  trace,
} from "@opentelemetry/api";
import { names } from "./gen-ai.ts";

interface SpanBeginning {
  readonly name: string;
  /** The key of the span, unique in its run. */
  readonly key: string;
  readonly kind: SpanKind;
  readonly at: number;
  readonly attributes: Attributes;
}

/** A parent span: open, or exported before and known by its key. */
export interface SpanParent {
  readonly span: Span | undefined;
  readonly key: string;
}

/** Starts the spans of one run, each with its parent. */
export class SpanTree {
  readonly #tracer: Tracer;
  readonly #ids: SpanIds | undefined;
  traceId = "";

  /** Without `ids`, the tracer's provider makes the ids. */
  constructor(tracer: Tracer, ids: SpanIds | undefined) {
    this.#tracer = tracer;
    this.#ids = ids;
  }

  start({ name, key, kind, at, attributes }: SpanBeginning, parent: SpanParent | null): Span {
    const options = { kind, startTime: new Date(at), attributes };
    const context = parent === null ? ROOT_CONTEXT : this.#contextOf(parent);
    const start = (): Span => this.#tracer.startSpan(name, options, context);
    if (this.#ids === undefined) return start();
    return this.#ids.pin(this.traceId, spanIdOf(this.traceId, key), start);
  }

  #contextOf({ span, key }: SpanParent): Context {
    if (span !== undefined) return trace.setSpan(ROOT_CONTEXT, span);
    if (this.#ids === undefined) return ROOT_CONTEXT;
    const { traceId } = this;
    const known = { traceId, spanId: spanIdOf(traceId, key), traceFlags: TraceFlags.SAMPLED };
    return trace.setSpanContext(ROOT_CONTEXT, known);
  }
}

/** Marks a span as failed, by an error type: a message could contain content. */
export function failSpan(span: Span, errorType: string): void {
  span.setAttribute(names.errorType, errorType);
  span.setStatus({ code: SpanStatusCode.ERROR });
}

/** Clocks of two processes may disagree; nothing ends before it began. */
export function endSpan(span: Span, startedAt: number, at: number): void {
  span.end(new Date(Math.max(startedAt, at)));
}

/**
 * Deterministic span ids: a process that recovers a run gives its spans the same ids, so that
 * exported spans find their parents.
 */
export class SpanIds {
  #traceId: string | undefined;
  #spanId: string | undefined;

  // The interface of a tracer provider.
  readonly generateTraceId = (): string => this.#traceId ?? randomBytes(16).toString("hex");
  readonly generateSpanId = (): string => this.#spanId ?? randomBytes(8).toString("hex");

  /** Starts a span under these ids. */
  pin<Span>(traceId: string, spanId: string, start: () => Span): Span {
    this.#traceId = traceId;
    this.#spanId = spanId;
    try {
      return start();
    } finally {
      this.#traceId = undefined;
      this.#spanId = undefined;
    }
  }
}

/** Run ids repeat across databases, so the hash of the first event is included. */
export function traceIdOf(runId: string, startHash: string): string {
  return digest(`${runId} ${startHash}`, 32);
}

function spanIdOf(traceId: string, key: string): string {
  return digest(`${traceId} ${key}`, 16);
}

function digest(text: string, length: number): string {
  const hex = createHash("sha256").update(text).digest("hex").slice(0, length);
  // An id of zeros is invalid.
  return /^0+$/.test(hex) ? hex.replace(/.$/, "1") : hex;
}
