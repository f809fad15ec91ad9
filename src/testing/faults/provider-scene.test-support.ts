/** For tests: a child whose provider misbehaves on the wire; its real client is the one that listens. */

import type { ServerResponse } from "node:http";
import { afterAll, beforeAll, beforeEach } from "vitest";
import { z } from "zod";
import { noExposure } from "../../contracts/exposure.ts";
import { protocols, type WireReply } from "../../models/wire-protocols.test-support.ts";
import {
  sendEvents,
  startWireServer,
  type WireServer,
} from "../../models/wire-server.test-support.ts";
import { systemClock } from "../../ports/clock.ts";
import { defineTool } from "../../tools/tool.ts";
import { type Aftermath, meetFault, type Scene } from "./fault-scene.test-support.ts";

export type Answer = (response: ServerResponse) => void;

export interface ProviderDesk {
  readonly url: string;
  /** When each request came, by a clock that cannot jump. */
  readonly askedAt: number[];
  /** What was asked, newest last. */
  readonly bodies: readonly string[];
  searches: number;
  /** The provider gives these answers one after the other, the last one from then on. */
  meet(model: string, answers: readonly Answer[], scene?: Scene): Promise<Aftermath>;
}

// The compatible server of these tests always says that it is gpt-4.1.
export const models = Object.keys(protocols).filter((model) => model !== "local/qwen");

export const key = "canary-key-0123456789";

/** Opens a provider for the tests of one file. */
export function openProviderDesk(): ProviderDesk {
  let server: WireServer;
  beforeAll(async () => {
    server = await startWireServer();
  });
  afterAll(() => server.close());
  const desk = {
    get url() {
      return server.url;
    },
    get bodies() {
      return server.bodies;
    },
    askedAt: [] as number[],
    searches: 0,
    meet(model: string, answers: readonly Answer[], scene: Scene = {}) {
      server.bodies.length = 0;
      desk.askedAt.length = 0;
      desk.searches = 0;
      server.answer = (response) => {
        desk.askedAt.push(systemClock.monotonic());
        answers[Math.min(desk.askedAt.length, answers.length) - 1]?.(response);
      };
      return meetFault({
        provider: model,
        tools: [searchFor(desk)],
        environment: {
          ANTHROPIC_API_KEY: key,
          ANTHROPIC_BASE_URL: server.url,
          GOOGLE_GENERATIVE_AI_API_KEY: key,
          GOOGLE_GENERATIVE_AI_BASE_URL: server.url,
          OPENAI_API_KEY: key,
          OPENAI_BASE_URL: `${server.url}/v1`,
        },
        ...scene,
        limits: { backoffMs: 4, requestTries: 3, ...scene.limits },
      });
    },
  };
  beforeEach(() => {
    server.answer = (response) => response.end();
  });
  return desk;
}

function searchFor(desk: { searches: number }) {
  return defineTool({
    name: "grep",
    description: "Searches.",
    effect: "read",
    exposure: noExposure,
    idempotent: false,
    scopes: [],
    input: z.strictObject({ pattern: z.string().optional() }),
    execute({ pattern }) {
      desk.searches += 1;
      return pattern === "much" ? "found ".repeat(2000) : "found";
    },
  });
}

export function refuse(
  status: number,
  message: string,
  headers: Readonly<Record<string, string>> = {},
): Answer {
  const error = { type: "error", error: { type: "error", message, code: "error", param: null } };
  return (response) => {
    response.writeHead(status, { "content-type": "application/json", ...headers });
    response.end(JSON.stringify(error));
  };
}

/** A reply in the words of the model's protocol; `after` decides how the connection ends. */
export function say(model: string, reply: WireReply, after?: Answer): Answer {
  return (response) => sendEvents(response, protocols[model]?.(reply) ?? [], after);
}

/** Answers with exactly these bytes. */
export function send(
  body: string,
  { status = 200, type = "text/event-stream" }: { status?: number; type?: string } = {},
  after: Answer = (response) => response.end(),
): Answer {
  return (response) => {
    response.writeHead(status, { "content-type": type });
    response.write(body);
    setTimeout(() => after(response), 20);
  };
}
