import { createHash, randomBytes } from "node:crypto";

/**
 * Ids of spans that follow from what they are about. A process that recovers a run gives its
 * spans the ids that they had before, so that what was sent already finds its parents.
 */
export class SpanIds {
  #traceId: string | undefined;
  #spanId: string | undefined;

  // What a tracer provider asks for.
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

/** Ids of runs are short and every database counts from one; the hash of its beginning is its own. */
export function traceIdOf(runId: string, startHash: string): string {
  return digest(`${runId} ${startHash}`, 32);
}

export function spanIdOf(traceId: string, key: string): string {
  return digest(`${traceId} ${key}`, 16);
}

function digest(text: string, length: number): string {
  const hex = createHash("sha256").update(text).digest("hex").slice(0, length);
  // All zeros means none.
  return /^0+$/.test(hex) ? hex.replace(/.$/, "1") : hex;
}
