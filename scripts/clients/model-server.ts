// A scripted model on loopback that speaks the protocols of Anthropic, OpenAI (both) and Gemini.
//
// Requests with the key of a client are answered from the plan of a scenario: a pure function of the
// results that our tools have given in the conversation so far. Requests with the key of a sub-agent
// are answered with one sentence, at once or when it is released.
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { type Json, protocolOf, type Reply } from "./model-protocols.ts";
import { type Step, ToolFinder } from "./tool-finder.ts";

export const clientKey = "sk-key-of-the-client";
export const childKey = "sk-key-of-the-sub-agent";

export type Plan = (results: readonly string[]) => Step;

/** No model answers at once. */
const thinkingMs = 500;

export class ModelServer {
  plan: Plan = () => ({ text: "There is no plan." });
  /** How long a sub-agent's answer takes. */
  holdMs = 0;
  childAnswer = "";
  /** What went wrong on the side of the model: a tool that was not offered, a request of no kind. */
  readonly problems: string[] = [];
  /** The results of our tools, as the client's model has seen them last. */
  seen: readonly string[] = [];
  childRequests = 0;
  abortedChildren = 0;
  readonly #held = new Set<() => void>();
  readonly #server = createServer((request, response) => {
    this.#answer(request, response).catch((error: unknown) => {
      this.problems.push(String(error));
      response.destroy();
    });
  });
  readonly #finder = new ToolFinder(this.problems);
  #ids = 0;

  async start(): Promise<string> {
    await new Promise<void>((resolve) => this.#server.listen(0, "127.0.0.1", resolve));
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** Lets held sub-agents answer, and does not hold another one. */
  release(): void {
    this.holdMs = 0;
    for (const each of this.#held) each();
  }

  close(): void {
    this.release();
    this.#server.closeAllConnections();
    this.#server.close();
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    let text = "";
    for await (const chunk of request) text += chunk;
    const path = (request.url ?? "").replace(/\?.*/, "");
    const speak = protocolOf(path);
    if (speak === undefined || request.method !== "POST") {
      response.writeHead(404, { "content-type": "application/json" }).end("{}");
      return;
    }
    const body = JSON.parse(text) as Json;
    const isStream = body["stream"] !== undefined && Boolean(body["stream"]);
    const send = (reply: Reply): void =>
      speak.write(response, reply, {
        id: `${++this.#ids}`,
        model: String(body["model"] ?? ""),
        isStream: isStream || path.endsWith("streamGenerateContent"),
      });
    if (keyOf(request) === childKey) {
      this.childRequests++;
      await this.#hold(response);
      if (!response.destroyed) send({ text: this.childAnswer });
      return;
    }
    const conversation = speak.read(body);
    // A title, a route, a summary of a topic: what clients ask beside the conversation.
    if (conversation.tools.length === 0 && conversation.search === undefined) {
      send({
        text: '{"complexity_reasoning": "simple", "complexity_score": 1, "title": "a task"}',
      });
      return;
    }
    if (conversation.results.length > 0) this.seen = conversation.results;
    const step = this.plan(conversation.results);
    const reply = "text" in step ? step : this.#finder.find(step, conversation);
    if ("search" in reply) await new Promise((resolve) => setTimeout(resolve, thinkingMs));
    send(reply);
  }

  #hold(response: ServerResponse): Promise<void> {
    if (this.holdMs === 0) return Promise.resolve();
    return new Promise((resolve) => {
      const timer = setTimeout(done, Math.min(this.holdMs, 2 ** 31 - 1));
      const held = this.#held;
      held.add(done);
      response.on("close", () => {
        if (!response.writableFinished) this.abortedChildren++;
        done();
      });
      function done(): void {
        clearTimeout(timer);
        held.delete(done);
        resolve();
      }
    });
  }
}

function keyOf({ headers }: IncomingMessage): string {
  const bearer = headers.authorization?.replace(/^Bearer /, "");
  return bearer ?? String(headers["x-api-key"] ?? headers["x-goog-api-key"] ?? "");
}
