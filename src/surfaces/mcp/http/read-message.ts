import { isJsonContentType } from "@modelcontextprotocol/server";
import { parseStrictJson, type StrictJson } from "../../../control/records/strict-json.ts";
import { jsonRpcError } from "./json-rpc-error.ts";

export type ReadMessage = { readonly message: unknown } | { readonly refused: Response };

/** Reads the one message that a request carries. Its size is held before anything is parsed. */
export async function readMessage(request: Request, maxBytes: number): Promise<ReadMessage> {
  if (request.method !== "POST") return { message: undefined };
  if (!isJsonContentType(request.headers.get("content-type"))) {
    return refuse(415, -32_000, "The content type has to be application/json.");
  }
  const body = await readBody(request, maxBytes);
  if (body === "too-large") {
    return refuse(413, -32_000, `A message may have at most ${maxBytes} bytes.`);
  }
  const parsed = body === "unreadable" ? notText : parse(body.bytes);
  if ("problem" in parsed)
    return refuse(400, -32_700, `The body cannot be read: ${parsed.problem}.`);
  const message = parsed.value;
  // Batches went with 2025-06-18. Ids of one could only be told apart by their answers.
  if (Array.isArray(message)) return refuse(400, -32_600, "Send one message in each request.");
  if (typeof message !== "object" || message === null) {
    return refuse(400, -32_600, "A message is a JSON object.");
  }
  const problem = problemOf(message);
  return problem === undefined ? { message } : refuse(400, -32_600, problem);
}

/** What JSON-RPC itself says; the SDK's schemas have one answer for all of this, «parse error». */
function problemOf(message: object): string | undefined {
  const { jsonrpc, id, method } = message as Readonly<Record<string, unknown>>;
  if (jsonrpc !== "2.0") return 'A message says jsonrpc: "2.0".';
  if (method !== undefined && typeof method !== "string") return "A method is named by a string.";
  if (id === undefined || typeof id === "string" || Number.isSafeInteger(id)) return undefined;
  return "An id is a string or a whole number.";
}

async function readBody(
  request: Request,
  maxBytes: number,
): Promise<{ readonly bytes: Uint8Array } | "too-large" | "unreadable"> {
  if (Number(request.headers.get("content-length") ?? 0) > maxBytes) return "too-large";
  const chunks: Uint8Array[] = [];
  let size = 0;
  try {
    for await (const chunk of request.body ?? []) {
      size += chunk.byteLength;
      if (size > maxBytes) return "too-large";
      chunks.push(chunk);
    }
  } catch {
    return "unreadable";
  }
  return { bytes: Buffer.concat(chunks) };
}

/** What is checked value by value must not keep everybody else waiting. */
const shapeOfJson = { depth: 64, values: 50_000 };
const notText = { problem: "no UTF-8" };

function parse(bytes: Uint8Array): StrictJson {
  try {
    const text = new TextDecoder("utf-8", { fatal: true }).decode(bytes);
    return parseStrictJson(text, { bytes: bytes.length, ...shapeOfJson });
  } catch {
    return notText;
  }
}

function refuse(status: number, code: number, message: string): ReadMessage {
  return { refused: jsonRpcError(status, code, message) };
}
