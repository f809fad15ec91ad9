import { parseStrictJson } from "../../control/records/strict-json.ts";
import type { Clock } from "../../ports/clock.ts";
import { HttpProblem } from "./problem.ts";

/** JSON is checked value by value on the event loop, so its size is limited. */
const shapeOfJson = { depth: 64, values: 50_000 };
/**
 * How long a refused body is still read, so that a client that is still sending sees the response.
 */
const lingerMs = 500;

/**
 * Refuses every body type but JSON, before anything else is read: forms and plain text are what a
 * page can send to other sites without a preflight.
 */
export function checkForm({ headers, method }: Request): void {
  const hasBody = !/^0+$/.test(headers.get("content-length") ?? "0");
  if (method === "GET") {
    // The body of a GET is never read, so it must not reach any other reader either.
    if (!hasBody && !headers.has("transfer-encoding")) return;
    throw new HttpProblem("request-invalid", "A GET has no body.");
  }
  const encoding = headers.get("content-encoding");
  if (encoding !== null && encoding.toLowerCase() !== "identity") {
    // The size limit counts received bytes, which says nothing about compressed data.
    throw new HttpProblem("not-json", "Content encodings are not supported.");
  }
  const type = headers.get("content-type");
  // A chunked body may turn out to be empty: `readBody` checks that case.
  if (type === null ? hasBody : !isJson(type)) throw notJson();
}

function isJson(type: string): boolean {
  return /^application\/json(?: *; *charset="?utf-8"?)?$/i.test(type.trim());
}

/** Reads a body. Its bytes are counted as they arrive, whatever Content-Length says. */
export async function readBody(
  request: Request,
  mostBytes: number,
  clock: Clock,
): Promise<Uint8Array> {
  const { headers, body } = request;
  if (Number(headers.get("content-length") ?? 0) > mostBytes) throw tooLarge(mostBytes);
  if (body === null) return new Uint8Array();
  const reader = body.getReader();
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for (;;) {
    const { done, value } = await readNext(reader);
    if (done) return Buffer.concat(chunks);
    bytes += value.length;
    if (bytes > 0 && !headers.has("content-type")) throw notJson();
    if (bytes > mostBytes) {
      void discardRest(reader, clock);
      throw tooLarge(mostBytes);
    }
    chunks.push(value);
  }
}

/** Parses a body as a JSON object. */
export function parseBody(bytes: Uint8Array): object {
  const parsed = parseStrictJson(decode(bytes), { bytes: bytes.length, ...shapeOfJson });
  if ("problem" in parsed) {
    throw new HttpProblem("request-invalid", `The body cannot be read: ${parsed.problem}.`);
  }
  const { value } = parsed;
  if (typeof value === "object" && value !== null && !Array.isArray(value)) return value;
  throw new HttpProblem("request-invalid", "The body must be a JSON object.");
}

function decode(bytes: Uint8Array): string {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    throw new HttpProblem("request-invalid", "The body is not UTF-8.");
  }
}

type Reader = ReadableStreamDefaultReader<Uint8Array>;

async function readNext(reader: Reader) {
  try {
    return await reader.read();
  } catch {
    // The client disconnected, so the response is not read.
    throw new HttpProblem("request-invalid", "The body ended too early.");
  }
}

async function discardRest(reader: Reader, clock: Clock): Promise<void> {
  const end = clock.monotonic() + lingerMs;
  try {
    while (clock.monotonic() < end) if ((await reader.read()).done) return;
  } catch {
    // The client disconnected.
  }
}

function notJson(): HttpProblem {
  return new HttpProblem("not-json", 'A body needs "Content-Type: application/json".');
}

function tooLarge(mostBytes: number): HttpProblem {
  const most = `${Math.floor(mostBytes / 1024)} KB`;
  return new HttpProblem("body-too-large", `The body must not be larger than ${most}.`);
}
