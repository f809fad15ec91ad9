import type { JSONRPCMessage, Transport } from "@modelcontextprotocol/client";
import type { Clock } from "../../ports/clock.ts";
import { headOf } from "../../text.ts";
import type { ToolResult } from "../tool.ts";
import type { ServerPlace } from "./contain-server.ts";
import type { ExpandedStdio } from "./expand-server.ts";
import { ServerProcess } from "./server-process.ts";

/**
 * Messages over the pipes of a process that we start ourselves: the SDK's own transport hands on
 * more of the environment than we want to, and ends the process without what that has started.
 */
export class StdioTransport implements Transport {
  onclose?: (() => void) | undefined;
  onerror?: ((error: Error) => void) | undefined;
  onmessage?: ((message: JSONRPCMessage) => void) | undefined;
  /** The last line on stdout that was no message: what a server says that was started wrongly. */
  noise = "";
  readonly #server: ExpandedStdio;
  readonly #place: ServerPlace;
  readonly #deserialize: (line: string) => JSONRPCMessage;
  readonly #clock: Clock;
  #process: ServerProcess | null = null;
  #isClosed = false;

  constructor(
    server: ExpandedStdio,
    place: ServerPlace,
    deserialize: (line: string) => JSONRPCMessage,
    clock: Clock,
  ) {
    this.#server = server;
    this.#place = place;
    this.#deserialize = deserialize;
    this.#clock = clock;
  }

  async start(): Promise<void> {
    const listener = {
      onLine: (line: Buffer) => this.#receive(line),
      onEnd: () => this.#closed(),
    };
    const started = await ServerProcess.start(this.#server, this.#place, listener, this.#clock);
    this.#process = started;
    if (this.#isClosed) {
      await started.stop();
      throw new Error("it was stopped while it started");
    }
  }

  send(message: JSONRPCMessage): Promise<void> {
    if (this.#process === null) return Promise.reject(new Error("it is not running"));
    return this.#process.write(`${JSON.stringify(message)}\n`);
  }

  /** Never rejects: the SDK calls it without waiting. */
  async close(): Promise<void> {
    await this.#process?.stop();
    this.#closed();
  }

  /** The SDK tells a local process from a distant server by these two. */
  get pid(): number | null {
    return this.#process?.pid ?? null;
  }

  get stderr(): null {
    return null;
  }

  /** How it ended; null while it runs, where it never did, and when we stopped it. */
  get ended(): string | null {
    return this.#process?.ended ?? null;
  }

  /** The hosts that it asked for since the last time, where it runs in a sandbox. */
  takeConnections(): ToolResult["connections"] {
    return this.#process?.connections?.take();
  }

  /** What the server process wrote about itself, for the text of an error. */
  get lastWords(): string {
    const said = this.#process?.stderr.trim() ?? "";
    return said === "" ? this.noise : said;
  }

  #receive(bytes: Buffer): void {
    const line = bytes.toString("utf8");
    let message: JSONRPCMessage;
    try {
      message = this.#deserialize(line);
    } catch {
      // Banners and debug output are common on stdout. Whatever it is, it is not for us.
      if (line.trim() !== "") this.noise = headOf(line, 1000);
      return;
    }
    this.onmessage?.(message);
  }

  #closed(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.onclose?.();
  }
}
