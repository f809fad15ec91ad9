/** A server with nothing but the streams, on a real socket, and a client that reads them. */
import { request as httpRequest, type IncomingMessage, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { createAdaptorServer } from "@hono/node-server";
import type { Principal } from "../../../control/records/principal.ts";
import type { Store } from "../../../ports/store.ts";
import { until as untilTrue } from "../../../testing/until.ts";
import type { Mount } from "../mount.ts";
import { HttpProblem, problemOf, problemResponse } from "../problem.ts";
import { EventHub, type EventHubOptions } from "./event-hub.ts";
import { eventStreams } from "./event-stream.ts";

export interface StreamServer extends AsyncDisposable {
  readonly hub: EventHub;
  readonly origin: string;
  readonly server: Server;
}

/** `/events` and `/inbox/events`; the header `x-principal` says who asks. */
export async function openStreams(
  store: Store,
  options: EventHubOptions = {},
): Promise<StreamServer> {
  const hub = new EventHub(store, options);
  const streams = eventStreams(hub);
  const server = createAdaptorServer({
    overrideGlobalObjects: false,
    fetch: async (request: Request, { outgoing }: Parameters<typeof handlerOf>[1]) => {
      try {
        return await handlerOf(request, { outgoing });
      } catch (error) {
        const headers = error instanceof HttpProblem ? error.headers : {};
        return problemResponse(
          problemOf(error, () => undefined),
          headers,
        );
      }
    },
  }) as Server;
  async function handlerOf(
    request: Request,
    { outgoing }: { outgoing: unknown },
  ): Promise<Response> {
    const { pathname } = new URL(request.url);
    const mount: Mount | undefined =
      pathname === "/events"
        ? streams.events
        : pathname === "/inbox/events"
          ? streams.inbox
          : undefined;
    if (mount === undefined) return new Response(null, { status: 404 });
    const id = request.headers.get("x-principal") ?? "local";
    const principal: Principal = { id, role: "viewer" };
    const context = {
      params: {},
      outgoing: outgoing as import("node:http").ServerResponse,
      isPage: false,
      signal: request.signal,
    };
    return mount(request, principal, context);
  }
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    hub,
    server,
    origin: `http://127.0.0.1:${port}`,
    async [Symbol.asyncDispose]() {
      hub.close();
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

export interface Frame {
  readonly id: string | undefined;
  readonly event: string | undefined;
  readonly data: string | undefined;
  readonly comment: string | undefined;
}

/** Reads a stream as a browser would: `lastId` is what it would come back with. */
export class StreamReader {
  readonly frames: Frame[] = [];
  lastId = "";
  isEnded = false;
  response: IncomingMessage | undefined;
  readonly #request: ReturnType<typeof httpRequest>;
  readonly #onFrame: ((frame: Frame) => void) | undefined;
  #rest = "";

  constructor(url: string, headers: Record<string, string> = {}, onFrame?: (frame: Frame) => void) {
    this.#onFrame = onFrame;
    this.#request = httpRequest(url, { headers, agent: false });
    this.#request.on("error", () => this.#end());
    this.#request.on("close", () => this.#end());
    this.#request.on("response", (response) => {
      this.response = response;
      response.setEncoding("utf8");
      response.on("data", (text: string) => this.#read(text));
      response.on("error", () => this.#end());
      response.on("close", () => this.#end());
    });
    this.#request.end();
  }

  /** The data of what has some and an id. */
  get told(): unknown[] {
    return this.frames.flatMap(({ id, data }) =>
      id !== undefined && data !== undefined ? [JSON.parse(data)] : [],
    );
  }

  close(): void {
    this.#request.destroy();
  }

  #end(): void {
    this.isEnded = true;
  }

  #read(text: string): void {
    const blocks = (this.#rest + text).split("\n\n");
    this.#rest = blocks.pop() ?? "";
    for (const block of blocks) {
      const frame = parseFrame(block);
      if (frame.id !== undefined) this.lastId = frame.id;
      if (this.#onFrame) this.#onFrame(frame);
      else this.frames.push(frame);
    }
  }
}

function parseFrame(block: string): Frame {
  const field = (name: string): string | undefined =>
    block
      .split("\n")
      .find((line) => line.startsWith(`${name}: `))
      ?.slice(name.length + 2);
  const comment = block.split("\n").find((line) => line.startsWith(":"));
  return { id: field("id"), event: field("event"), data: field("data"), comment };
}

export function until(isTrue: () => boolean): Promise<true> {
  return untilTrue(String(isTrue), isTrue);
}
