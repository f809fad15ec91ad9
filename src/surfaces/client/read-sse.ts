/** One message of a stream; null where it did not say. */
export interface SseMessage {
  readonly id: string | null;
  readonly event: string | null;
  readonly data: string | null;
}

/** Far more than any event holds: whoever sends it is not the server that was meant. */
const mostCharacters = 64 * 1024 * 1024;

/**
 * Reads server-sent events. A message counts once the line after it is there: of one that was cut
 * nothing is known, its id least of all. `onBytes` hears of whatever comes, heartbeats included.
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
