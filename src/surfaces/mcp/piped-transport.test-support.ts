import { PassThrough } from "node:stream";
import type { JSONRPCMessage, Transport } from "@modelcontextprotocol/client";
import { ReadBuffer, serializeMessage } from "@modelcontextprotocol/client";

/** A client's end of two pipes, as it would have it of a process. */
export class PipedTransport implements Transport {
  onclose?: () => void;
  onerror?: (error: Error) => void;
  onmessage?: (message: JSONRPCMessage) => void;
  /** What the server reads. */
  readonly outgoing = new PassThrough();
  readonly #buffer = new ReadBuffer();

  async start(): Promise<void> {}

  async send(message: JSONRPCMessage): Promise<void> {
    this.outgoing.write(serializeMessage(message));
  }

  /** What the server writes. */
  receive(text: string): void {
    this.#buffer.append(Buffer.from(text));
    setImmediate(() => {
      for (let next = this.#buffer.readMessage(); next; next = this.#buffer.readMessage()) {
        this.onmessage?.(next);
      }
    });
  }

  async close(): Promise<void> {
    this.outgoing.end();
    this.onclose?.();
  }
}
