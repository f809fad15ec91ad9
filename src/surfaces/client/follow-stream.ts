import {
  type Connection,
  headersOf,
  MandateApiError,
  pause,
  queryOf,
  readProblem,
} from "./call-operation.ts";

export interface StreamRequest {
  /** The path below `/api/v1`: `/events`. */
  readonly path: string;
  readonly query: Readonly<Record<string, unknown>>;
  /** Only items after this position; absent: only new ones. */
  readonly after: number | undefined;
  readonly signal: AbortSignal | undefined;
  /** Gets what has no position, so that it cannot be sent again. */
  readonly onPassing?: ((value: unknown) => void) | undefined;
}

export interface StreamItem {
  /** The position of the item in the stream, which increases. */
  readonly id: number;
  readonly value: unknown;
}

/** Servers send a heartbeat; a connection without data for so long is closed. */
const silenceMs = 60_000;
const firstPauseMs = 250;
const longestPauseMs = 10_000;

/**
 * Yields every item after a position once and in order. A broken connection is opened again after
 * the last item. Ends when the signal aborts. Throws when the server refuses, or was never reached.
 */
export async function* followStream(
  connection: Connection,
  request: StreamRequest,
): AsyncGenerator<StreamItem> {
  const { signal } = request;
  let place = request.after;
  let wasOpen = false;
  let failures = 0;
  while (!signal?.aborted) {
    try {
      for await (const item of oneConnection(connection, request, place)) {
        wasOpen = true;
        failures = 0;
        // Skips repeated items, and messages that only move the position.
        const isNew = item.value !== undefined && item.id > (place ?? -1);
        place = Math.max(place ?? 0, item.id);
        if (isNew) yield item;
        if (signal?.aborted) return;
      }
    } catch (error) {
      if (signal?.aborted) return;
      if (!wasOpen || isFinal(error)) throw error;
    }
    await pause(Math.min(firstPauseMs * 2 ** failures++, longestPauseMs), signal);
  }
}

async function* oneConnection(
  connection: Connection,
  { onPassing, path, query, signal }: StreamRequest,
  place: number | undefined,
): AsyncGenerator<{ readonly id: number; readonly value: unknown }> {
  const ending = new AbortController();
  const end = (): void => ending.abort();
  signal?.addEventListener("abort", end, { once: true });
  let silence = setTimeout(end, silenceMs);
  try {
    const response = await connection.fetch(`${connection.url}/api/v1${path}${queryOf(query)}`, {
      headers: {
        ...headersOf(connection),
        accept: "text/event-stream",
        ...(place !== undefined && { "last-event-id": String(place) }),
      },
      signal: ending.signal,
    });
    if (!response.ok || response.body === null) throw await readProblem(response);
    const messages = readSse(response.body, () => {
      clearTimeout(silence);
      silence = setTimeout(end, silenceMs);
    });
    for await (const { data, id } of messages) {
      if (id === null && data !== null) onPassing?.(JSON.parse(data));
      if (id === null || !/^[0-9]{1,15}$/.test(id)) continue;
      yield { id: Number(id), value: data === null ? undefined : (JSON.parse(data) as unknown) };
    }
  } finally {
    clearTimeout(silence);
    signal?.removeEventListener("abort", end);
    end();
  }
}

/** A repeated request would get the same answer. */
function isFinal(error: unknown): boolean {
  if (!(error instanceof MandateApiError)) return false;
  return error.status < 500 && error.status !== 408 && error.status !== 429;
}

/** One message of a stream; null: the field is absent. */
export interface SseMessage {
  readonly id: string | null;
  readonly event: string | null;
  readonly data: string | null;
}

/** The longest message, far above any event. */
const mostCharacters = 64 * 1024 * 1024;

/**
 * Reads server-sent events. A message counts when the empty line after it has arrived; a truncated
 * one is dropped with its id. `onBytes` is called for all data, also heartbeats.
 */
export async function* readSse(
  body: ReadableStream<Uint8Array>,
  onBytes: () => void = () => undefined,
): AsyncGenerator<SseMessage> {
  const reader = body.getReader();
  const decoder = new TextDecoder();
  let rest = "";
  let fields: { id: string | null; event: string | null; data: string[] } = nothing();
  let length = 0;
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      onBytes();
      const lines = (rest + decoder.decode(value, { stream: true })).split(/\r\n|\n|\r(?!$)/);
      rest = lines.pop() ?? "";
      for (const line of lines) {
        if (line !== "") {
          length += line.length;
          take(fields, line);
          continue;
        }
        length = 0;
        const { data, event, id } = fields;
        if (id !== null || data.length > 0) {
          yield { id, event, data: data.length === 0 ? null : data.join("\n") };
        }
        fields = nothing();
      }
      if (length + rest.length > mostCharacters) {
        throw new Error(`A message of the stream is longer than ${mostCharacters} characters.`);
      }
    }
  } finally {
    await reader.cancel().catch(() => undefined);
  }
}

function nothing() {
  return { id: null, event: null, data: [] };
}

function take(fields: { id: string | null; event: string | null; data: string[] }, line: string) {
  const [, name = "", value = ""] = /^([^:]*)(?:: ?(.*))?$/s.exec(line) ?? [];
  if (name === "data") fields.data.push(value);
  if (name === "event") fields.event = value;
  if (name === "id" && !value.includes("\0")) fields.id = value;
}
