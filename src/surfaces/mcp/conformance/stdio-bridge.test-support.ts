import type { ChildProcessWithoutNullStreams } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { createInterface } from "node:readline";
import { json } from "node:stream/consumers";

interface Message {
  readonly id?: string | number;
  readonly method?: string;
}

/**
 * The official suite speaks HTTP alone. The bridge passes each of its requests on as a line to a
 * `mandate mcp`, unchanged but for its id, and returns the line that answers it: one process for
 * each session of 2025-11-25, and one for all requests of 2026-07-28.
 */
export async function startStdioBridge(start: () => ChildProcessWithoutNullStreams) {
  const processes = new Map<string, Lines>();
  const linesOf = (key: string): Lines => {
    const lines = processes.get(key) ?? new Lines(start());
    processes.set(key, lines);
    return lines;
  };
  const server = createServer((request, response) => {
    answer(request, response).catch(() => response.destroy());
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/mcp`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await Promise.all([...processes.values()].map((one) => one.end()));
    },
  };

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (request.method !== "POST") {
      response.writeHead(405).end();
      return;
    }
    const message = (await json(request)) as Message;
    const session = request.headers["mcp-session-id"];
    const begun = message.method === "initialize" ? randomUUID() : undefined;
    const lines = linesOf(begun ?? (typeof session === "string" ? session : "modern"));
    const reply = await lines.ask(message);
    const headers = {
      "content-type": "application/json",
      ...(begun !== undefined && { "mcp-session-id": begun }),
    };
    if (reply === undefined) response.writeHead(202).end();
    else response.writeHead(200, headers).end(JSON.stringify(reply));
  }
}

/** One `mandate mcp`, and the requests that it has not answered yet. */
class Lines {
  readonly #child: ChildProcessWithoutNullStreams;
  readonly #open = new Map<number, (reply: object) => void>();
  #requests = 0;

  constructor(child: ChildProcessWithoutNullStreams) {
    this.#child = child;
    createInterface({ input: child.stdout }).on("line", (line) => {
      const reply: Message = JSON.parse(line);
      if (reply.method === undefined) this.#open.get(Number(reply.id))?.(reply);
    });
  }

  /** Undefined: a notification, which has no answer. */
  async ask(message: Message): Promise<object | undefined> {
    const { id } = message;
    const own = ++this.#requests;
    const asked = id === undefined ? message : { ...message, id: own };
    this.#child.stdin.write(`${JSON.stringify(asked)}\n`);
    if (id === undefined) return undefined;
    const reply = await new Promise<object>((resolve) => this.#open.set(own, resolve));
    return { ...reply, id };
  }

  async end(): Promise<void> {
    this.#child.stdin.end();
    if (this.#child.exitCode === null) await once(this.#child, "exit");
  }
}
