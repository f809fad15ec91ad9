import type { Readable } from "node:stream";
import {
  isJSONRPCErrorResponse,
  isJSONRPCRequest,
  isJSONRPCResultResponse,
  type JSONRPCMessage,
  type RequestId,
  type Transport,
} from "@modelcontextprotocol/server";
import { LineReader } from "./line-reader.ts";
import { type ReadLine, readLine } from "./read-line.ts";

/** As much as a client may say at once. */
const longestLine = 10 * 1024 * 1024;

/**
 * JSON-RPC, a message a line. Whatever comes in, the connection lives: what is no message is
 * answered as the specification says, and the next line is read.
 */
export class LineTransport implements Transport {
  onclose?: () => void;
  onerror?: (error: Error) => void;
  onmessage?: (message: JSONRPCMessage) => void;
  readonly #input: Readable;
  readonly #write: (text: string) => void;
  readonly #reader: LineReader;
  /** Ids of requests that have no answer yet. */
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
      // What is taken back is not answered.
      const { requestId } = (message.params ?? {}) as { readonly requestId?: RequestId };
      if (requestId !== undefined) this.#open.delete(requestId);
    }
    this.onmessage?.(message);
  }

  /** Two answers under one id could not be told apart. */
  #refuseDuplicate(id: RequestId): void {
    const error = { code: -32_600, message: "A request with this id is not answered yet." };
    this.#write(`${JSON.stringify({ jsonrpc: "2.0", id, error })}\n`);
  }
}
