// A provider on loopback for the models of agent programs: it follows a plan, and counts what it bills.
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import {
  type Conversation,
  type Json,
  protocolOf,
  type Reply,
  type Usage,
} from "../clients/model-protocols.ts";
import { ToolFinder } from "../clients/tool-finder.ts";
import { shellCall, subAgentCall } from "./real-agents.ts";

/** In the task of every program: a conversation without it is one of a sub-agent. */
export const mainMark = "TASK-OF-THE-MAIN-AGENT";

/** What the model does next. */
export type AgentStep =
  | { readonly line: string }
  | { readonly subAgent: string }
  | { readonly call: string; readonly namespace?: string; readonly args: object }
  | { readonly tool: string; readonly args: object }
  | { readonly text: string };

export interface Asked extends Conversation {
  /** The program's own conversation, not one of its sub-agents. */
  readonly isMain: boolean;
  /** How many requests of this kind there were before. */
  readonly before: number;
}

export type AgentPlan = (asked: Asked) => AgentStep;

interface Billed extends Usage {
  readonly model: string;
  readonly isMain: boolean;
  readonly isAux: boolean;
}

export class AgentModel {
  plan: AgentPlan = () => ({ text: "There is no plan." });
  /** What it says that each answer has used. */
  usage: Usage = { prompt: 1000, completion: 100 };
  /** The answer to the request of this number waits until the connection ends; 0: none does. */
  holdAt = 0;
  readonly billed: Billed[] = [];
  readonly problems: string[] = [];
  /** All that programs have sent. */
  readonly bodies: string[] = [];
  url = "";
  readonly #finder = new ToolFinder(this.problems);
  readonly #onRequest = new Set<() => void>();
  readonly #server = createServer((request, response) => {
    this.#answer(request, response).catch((error: unknown) => {
      this.problems.push(String(error));
      response.destroy();
    });
  });

  async start(): Promise<void> {
    await new Promise<void>((resolve) => this.#server.listen(0, "127.0.0.1", resolve));
    this.url = `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  close(): void {
    this.#server.closeAllConnections();
    this.#server.close();
  }

  /** Resolves when so many requests have arrived. */
  async arrived(count: number): Promise<void> {
    while (this.bodies.length < count) {
      await new Promise<void>((resolve) => this.#onRequest.add(resolve));
    }
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
    const conversation = speak.read(body);
    const isMain = text.includes(mainMark);
    const isAux = conversation.tools.length === 0 && conversation.search === undefined;
    const before = this.billed.filter((one) => one.isMain === isMain && !one.isAux).length;
    this.bodies.push(text);
    for (const resolve of this.#onRequest) resolve();
    this.#onRequest.clear();
    if (this.holdAt > 0 && this.bodies.length >= this.holdAt) return;
    const most = mostOutput(body);
    const usage = { ...this.usage, completion: Math.min(this.usage.completion, most) };
    const model = `${body["model"] ?? /models\/([^:]+):/.exec(path)?.[1]}`;
    this.billed.push({ ...usage, model, isMain, isAux });
    const reply = isAux
      ? { text: '{"complexity_reasoning": "simple", "complexity_score": 1, "title": "a task"}' }
      : this.#reply({ ...conversation, isMain, before });
    const isStream = Boolean(body["stream"] ?? false) || path.endsWith("streamGenerateContent");
    speak.write(response, reply, { id: `${this.billed.length}`, model, isStream, usage });
  }

  #reply(asked: Asked): Reply {
    const step = this.plan(asked);
    if ("text" in step) return step;
    if ("call" in step) {
      const { args, call: name, namespace } = step;
      return { call: { name, ...(namespace !== undefined && { namespace }) }, args };
    }
    if ("tool" in step) return this.#finder.find(step, asked);
    const reply = "line" in step ? shellCall(asked, step.line) : subAgentCall(asked, step.subAgent);
    if (reply !== null) return reply;
    const names = asked.tools.map(({ name }) => name).join(", ");
    this.problems.push(`no tool for ${JSON.stringify(step)} in ${names}`);
    return { text: "The tool is missing." };
  }
}

function mostOutput(body: Json): number {
  const { generationConfig, max_completion_tokens, max_output_tokens, max_tokens } = body;
  const most = [
    ...[max_tokens, max_completion_tokens, max_output_tokens],
    generationConfig?.["maxOutputTokens"],
  ].find((one) => one !== undefined);
  return Number(most ?? Number.POSITIVE_INFINITY);
}
