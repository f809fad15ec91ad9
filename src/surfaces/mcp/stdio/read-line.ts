import { type JSONRPCMessage, parseJSONRPCMessage } from "@modelcontextprotocol/server";
import { tooLong } from "./line-reader.ts";

/** What is answered to something that is no message. */
interface Refusal {
  readonly jsonrpc: "2.0";
  /** Null where none could be read, as JSON-RPC wants it. */
  readonly id: string | number | null;
  readonly error: { readonly code: number; readonly message: string };
}

export type ReadLine =
  | { readonly message: JSONRPCMessage }
  | { readonly refused: Refusal }
  /** An empty line, or a response that cannot be used: those are not answered. */
  | { readonly nothing: true };

const parseError = -32_700;
const invalidRequest = -32_600;

export function readLine(line: Buffer | typeof tooLong, most: number): ReadLine {
  if (line === tooLong) {
    const megabytes = most / 1024 / 1024;
    return refuse(null, invalidRequest, `A message may have at most ${megabytes} MB.`);
  }
  let value: unknown;
  try {
    const text = new TextDecoder("utf-8", { fatal: true }).decode(line);
    if (text.trim() === "") return { nothing: true };
    value = JSON.parse(text);
  } catch {
    return refuse(null, parseError, "This is not JSON in UTF-8.");
  }
  if (Array.isArray(value)) return refuse(null, invalidRequest, "Send one message in each line.");
  if (typeof value !== "object" || value === null) {
    return refuse(null, invalidRequest, "A message is a JSON object.");
  }
  const problem = problemOf(value);
  if (problem === undefined) {
    try {
      return { message: parseJSONRPCMessage(value) };
    } catch {
      // Below: it has the marks of a message and is none.
    }
  }
  const { id, method } = value as Readonly<Record<string, unknown>>;
  // A response is never answered: two programs could go on like that for ever.
  if (method === undefined && ("result" in value || "error" in value)) return { nothing: true };
  const known = typeof id === "string" || typeof id === "number" ? id : null;
  return refuse(known, invalidRequest, problem ?? "This is no request, notification or response.");
}

function problemOf(value: object): string | undefined {
  const { id, jsonrpc, method } = value as Readonly<Record<string, unknown>>;
  if (jsonrpc !== "2.0") return 'A message says jsonrpc: "2.0".';
  if (method !== undefined && typeof method !== "string") return "A method is named by a string.";
  if (!("id" in value) || typeof id === "string" || Number.isSafeInteger(id)) return undefined;
  return "An id is a string or a whole number.";
}

function refuse(id: Refusal["id"], code: number, message: string): ReadLine {
  return { refused: { jsonrpc: "2.0", id, error: { code, message } } };
}
