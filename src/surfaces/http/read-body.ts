import { parseStrictJson } from "../../control/records/strict-json.ts";
import type { Clock } from "../../ports/clock.ts";
import { HttpProblem } from "./problem.ts";

/** What is checked value by value must not keep everybody else waiting. */
const shapeOfJson = { depth: 64, values: 50_000 };
/** What is read past a refusal, so that a client that is still sending gets to see it. */
const lingerMs = 500;

/**
 * Refuses a form that is never taken, before anything else is looked at: forms and plain text are
 * what a page can send to other sites without asking them.
 */
export function checkForm({ headers, method }: Request): void {
  const hasBody = !/^0+$/.test(headers.get("content-length") ?? "0");
  if (method === "GET") {
    // Nobody reads it here: what somebody put there must not count for anything, anywhere.
    if (!hasBody && !headers.has("transfer-encoding")) return;
    throw new HttpProblem("request-invalid", "A GET has no body.");
  }
  const encoding = headers.get("content-encoding");
  if (encoding !== null && encoding.toLowerCase() !== "identity") {
    // What is small now and large later is not measured by counting what comes in.
    throw new HttpProblem("not-json", "Bodies are taken as they are: no content encoding.");
  }
  const type = headers.get("content-type");
  // Whether there is one at all is sometimes seen only when it ends: then that is for who reads it.
  if (type === null ? hasBody : !isJson(type)) throw notJson();
}

function isJson(type: string): boolean {
  return /^application\/json(?: *; *charset="?utf-8"?)?$/i.test(type.trim());
}

/** The bytes of a body. Counted while they come in, whatever the headers promise. */
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

/** The object that a body is. */
export function parseBody(bytes: Uint8Array): object {
  const parsed = parseStrictJson(decode(bytes), { bytes: bytes.length, ...shapeOfJson });
  if ("problem" in parsed) {
    throw new HttpProblem("request-invalid", `The body cannot be read: ${parsed.problem}.`);
  }
  const { value } = parsed;
  if (typeof value === "object" && value !== null && !Array.isArray(value)) return value;
  throw new HttpProblem("request-invalid", "The body has to be a JSON object.");
}

function decode(bytes: Uint8Array): string {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    throw new HttpProblem("request-invalid", "The body is no UTF-8.");
  }
}

type Reader = ReadableStreamDefaultReader<Uint8Array>;

async function readNext(reader: Reader) {
  try {
    return await reader.read();
  } catch {
    // The client left or was cut off: nobody reads the answer.
    throw new HttpProblem("request-invalid", "The body ended too early.");
  }
}

async function discardRest(reader: Reader, clock: Clock): Promise<void> {
  const end = clock.monotonic() + lingerMs;
  try {
    while (clock.monotonic() < end) if ((await reader.read()).done) return;
  } catch {
    // Gone, which is as well.
  }
}

function notJson(): HttpProblem {
  return new HttpProblem("not-json", 'A body needs "Content-Type: application/json".');
}

function tooLarge(mostBytes: number): HttpProblem {
  const most = `${Math.floor(mostBytes / 1024)} KB`;
  return new HttpProblem("body-too-large", `A body has at most ${most} here.`);
}
