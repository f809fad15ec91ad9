import type { Readable } from "node:stream";
import {
  isJSONRPCErrorResponse,
  isJSONRPCRequest,
  isJSONRPCResultResponse,
  type JSONRPCMessage,
  parseJSONRPCMessage,
  type RequestId,
  type Transport,
} from "@modelcontextprotocol/server";

/** The longest message of a client. */
const longestLine = 10 * 1024 * 1024;

/**
 * JSON-RPC with one message per line. Invalid input never closes the connection: it is answered as
 * the specification says, and the next line is read.
 */
export class LineTransport implements Transport {
  onclose?: () => void;
  onerror?: (error: Error) => void;
  onmessage?: (message: JSONRPCMessage) => void;
  readonly #input: Readable;
  readonly #write: (text: string) => void;
  readonly #reader: LineReader;
  /** The ids of open requests. */
  readonly #open = new Set<RequestId>();
  #isClosed = false;

  constructor(input: Readable, write: (text: string) => void) {
    this.#input = input;
    this.#write = write;
    this.#reader = new LineReader(longestLine, (line) => this.#take(readLine(line, longestLine)));
  }

  async start(): Promise<void> {
    this.#input.on("data", this.#hear);
    this.#input.on("end", this.#end);
    this.#input.on("close", this.#end);
    this.#input.on("error", this.#end);
  }

  async send(message: JSONRPCMessage): Promise<void> {
    if (this.#isClosed) return;
    const isAnswer = isJSONRPCResultResponse(message) || isJSONRPCErrorResponse(message);
    if (isAnswer && message.id !== undefined) this.#open.delete(message.id);
    this.#write(`${JSON.stringify(message)}\n`);
  }

  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#input.off("data", this.#hear);
    this.#input.pause();
    this.onclose?.();
  }

  readonly #hear = (chunk: Buffer): void => {
    this.#reader.push(chunk);
  };

  readonly #end = (): void => {
    void this.close();
  };

  #take(read: ReadLine): void {
    if (this.#isClosed || "nothing" in read) return;
    if ("refused" in read) {
      this.#write(`${JSON.stringify(read.refused)}\n`);
      return;
    }
    const { message } = read;
    if (isJSONRPCRequest(message)) {
      if (this.#open.has(message.id)) {
        this.#refuseDuplicate(message.id);
        return;
      }
      this.#open.add(message.id);
    } else if ("method" in message && message.method === "notifications/cancelled") {
      // A cancelled request gets no answer.
      const { requestId } = (message.params ?? {}) as { readonly requestId?: RequestId };
      if (requestId !== undefined) this.#open.delete(requestId);
    }
    this.onmessage?.(message);
  }

  /** Two answers with one id would be ambiguous. */
  #refuseDuplicate(id: RequestId): void {
    const error = { code: -32_600, message: "A request with this id is not answered yet." };
    this.#write(`${JSON.stringify({ jsonrpc: "2.0", id, error })}\n`);
  }
}

const newline = 0x0a;

/** Stands for a line that was too long, and was dropped. */
export const tooLong = Symbol("too long");

/** Splits input into lines of a limited length. */
export class LineReader {
  readonly #most: number;
  readonly #onLine: (line: Buffer | typeof tooLong) => void;
  #pieces: Buffer[] = [];
  #size = 0;
  #isSkipping = false;

  constructor(most: number, onLine: (line: Buffer | typeof tooLong) => void) {
    this.#most = most;
    this.#onLine = onLine;
  }

  push(chunk: Buffer): void {
    let rest = chunk;
    for (let end = rest.indexOf(newline); end !== -1; end = rest.indexOf(newline)) {
      this.#keep(rest.subarray(0, end));
      this.#finish();
      rest = rest.subarray(end + 1);
    }
    this.#keep(rest);
  }

  #keep(piece: Buffer): void {
    if (this.#isSkipping || piece.length === 0) return;
    this.#size += piece.length;
    this.#isSkipping = this.#size > this.#most;
    if (this.#isSkipping) this.#pieces = [];
    else this.#pieces.push(piece);
  }

  #finish(): void {
    const line = this.#isSkipping ? tooLong : Buffer.concat(this.#pieces);
    this.#pieces = [];
    this.#size = 0;
    this.#isSkipping = false;
    this.#onLine(line);
  }
}

/** The answer to invalid input. */
interface Refusal {
  readonly jsonrpc: "2.0";
  /** Null when no id could be read, as JSON-RPC requires. */
  readonly id: string | number | null;
  readonly error: { readonly code: number; readonly message: string };
}

export type ReadLine =
  | { readonly message: JSONRPCMessage }
  | { readonly refused: Refusal }
  /** An empty line or an unusable response, which get no answer. */
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
      // Handled below: it looks like a message and is not valid.
    }
  }
  const { id, method } = value as Readonly<Record<string, unknown>>;
  // A response is never answered, or two programs could answer each other without end.
  if (method === undefined && ("result" in value || "error" in value)) return { nothing: true };
  const known = typeof id === "string" || typeof id === "number" ? id : null;
  return refuse(
    known,
    invalidRequest,
    problem ?? "This is not a request, notification or response.",
  );
}

function problemOf(value: object): string | undefined {
  const { id, jsonrpc, method } = value as Readonly<Record<string, unknown>>;
  if (jsonrpc !== "2.0") return 'A message must have jsonrpc: "2.0".';
  if (method !== undefined && typeof method !== "string") return "A method must be a string.";
  if (!("id" in value) || typeof id === "string" || Number.isSafeInteger(id)) return undefined;
  return "An id must be a string or a whole number.";
}

function refuse(id: Refusal["id"], code: number, message: string): ReadLine {
  return { refused: { jsonrpc: "2.0", id, error: { code, message } } };
}
