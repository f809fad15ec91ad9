import type {
  JSONRPCMessage,
  StreamableHTTPClientTransport,
  Transport,
  TransportSendOptions,
} from "@modelcontextprotocol/client";
import { type Clock, waitAtMost } from "../../ports/clock.ts";

const politeMs = 500;

/**
 * The SDK's transport, with two ends tied up: a reply stream that breaks fails its request at once
 * instead of at the timeout, and a request that was cancelled gives its connection back.
 */
export class HttpTransport implements Transport {
  readonly hasPerRequestStream = true;
  onclose?: (() => void) | undefined;
  onerror?: ((error: Error) => void) | undefined;
  onmessage?: ((message: JSONRPCMessage) => void) | undefined;
  readonly #inner: StreamableHTTPClientTransport;
  readonly #clock: Clock;
  readonly #waiting = new Map<string | number, AbortController>();

  constructor(inner: StreamableHTTPClientTransport, clock: Clock) {
    this.#inner = inner;
    this.#clock = clock;
    inner.onclose = () => this.onclose?.();
    inner.onerror = (error) => this.onerror?.(error);
    inner.onmessage = (message) => {
      if (!("method" in message) && message.id !== undefined) this.#waiting.delete(message.id);
      this.onmessage?.(message);
    };
  }

  start(): Promise<void> {
    return this.#inner.start();
  }

  async send(message: JSONRPCMessage, options?: TransportSendOptions): Promise<void> {
    if (!("method" in message)) return this.#inner.send(message);
    if (!("id" in message)) {
      await this.#inner.send(message).finally(() => this.#forgetCancelled(message));
      return;
    }
    const { id } = message;
    const abort = new AbortController();
    this.#waiting.set(id, abort);
    // In the newer revision of the protocol, letting go of the stream is how a call is cancelled.
    options?.requestSignal?.addEventListener("abort", () => this.#forget(id), { once: true });
    const onRequestStreamEnd = () => {
      if (this.#waiting.delete(id)) this.#failRequest(id);
    };
    try {
      await this.#inner.send(message, {
        ...(options?.headers && { headers: options.headers }),
        requestSignal: abort.signal,
        onRequestStreamEnd,
      });
    } catch (error) {
      this.#waiting.delete(id);
      throw error;
    }
  }

  async close(): Promise<void> {
    // Politeness towards servers that keep sessions; nothing depends on it.
    await waitAtMost(this.#clock, politeMs, this.#inner.terminateSession().catch(ignore));
    await this.#inner.close().catch(ignore);
  }

  get sessionId(): string | undefined {
    return this.#inner.sessionId;
  }

  setProtocolVersion(version: string): void {
    this.#inner.setProtocolVersion(version);
  }

  #failRequest(id: string | number): void {
    const error = { code: -32000, message: "The connection ended before the reply." };
    this.onmessage?.({ jsonrpc: "2.0", id, error });
  }

  #forgetCancelled(message: {
    method: string;
    params?: Record<string, unknown> | undefined;
  }): void {
    const id = message.params?.["requestId"];
    if (message.method !== "notifications/cancelled") return;
    if (typeof id !== "string" && typeof id !== "number") return;
    this.#forget(id);
  }

  #forget(id: string | number): void {
    this.#waiting.get(id)?.abort();
    this.#waiting.delete(id);
  }
}

function ignore(): void {}
