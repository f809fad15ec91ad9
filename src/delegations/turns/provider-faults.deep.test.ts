/** The faults of providers, met by their real clients, from the wire to what the caller sees. */

import type { ServerResponse } from "node:http";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { z } from "zod";
import { noExposure } from "../../contracts/exposure.ts";
import { protocols, type WireReply } from "../../models/wire-protocols.test-support.ts";
import {
  sendEvents,
  startWireServer,
  type WireServer,
} from "../../models/wire-server.test-support.ts";
import {
  type EngineOptions,
  ofType,
  openEngine,
  testProfile,
} from "../../testing/engine-fixture.ts";
import { defineTool } from "../../tools/tool.ts";

let server: WireServer;
let asked = 0;
let searches = 0;

beforeAll(async () => {
  server = await startWireServer();
});
afterAll(() => server.close());
beforeEach(() => {
  asked = 0;
  searches = 0;
});

type Answer = (response: ServerResponse) => void;

/** The provider gives these answers one after the other, the last one from then on. */
function answers(...list: readonly Answer[]): void {
  server.answer = (response) => {
    asked += 1;
    list[Math.min(asked, list.length) - 1]?.(response);
  };
}

function refuse(status: number, message: string, headers: Record<string, string> = {}): Answer {
  const error = { type: "error", error: { type: "error", message, code: "error", param: null } };
  return (response) => {
    response.writeHead(status, { "content-type": "application/json", ...headers });
    response.end(JSON.stringify(error));
  };
}

const grep = defineTool({
  name: "grep",
  description: "Searches.",
  effect: "read",
  exposure: noExposure,
  idempotent: false,
  scopes: [],
  input: z.strictObject({ pattern: z.string().optional() }),
  execute({ pattern }) {
    searches += 1;
    return pattern === "much" ? "found ".repeat(2000) : "found";
  },
});

async function run(
  model: string,
  options: EngineOptions = {},
  request: { timeoutMs?: number } = {},
) {
  const { url } = server;
  await using mandate = await openEngine({
    profiles: [testProfile("asker", { tools: ["grep"], model: { model } })],
    tools: [grep],
    environment: {
      ANTHROPIC_API_KEY: "key",
      ANTHROPIC_BASE_URL: url,
      GOOGLE_GENERATIVE_AI_API_KEY: "key",
      GOOGLE_GENERATIVE_AI_BASE_URL: url,
      OPENAI_API_KEY: "key",
      OPENAI_BASE_URL: `${url}/v1`,
    },
    config: {
      models: {
        providers: { local: { kind: "openai-compatible", baseUrl: `${url}/v1`, apiKey: "key" } },
        prices: {},
        pools: {},
      },
    },
    ...options,
    limits: { backoffMs: 4, requestTries: 3, maxRetries: 1, ...options.limits },
  });
  const { result, events } = await mandate.run({ task: "look", profile: "asker", ...request });
  return { result, events };
}

// The compatible server of these tests always says that it is gpt-4.1.
const models = Object.keys(protocols).filter((model) => model !== "local/qwen");

describe.each(models)("%s", (model) => {
  const say =
    (reply: WireReply, after?: Answer): Answer =>
    (response) =>
      sendEvents(response, protocols[model]?.(reply) ?? [], after);
  const fine = say({ text: "All is well." });

  it("fault 6: a 429 with retry-after is waited out, and the delegation stays running", async () => {
    answers(refuse(429, "slow down", { "retry-after-ms": "60" }), fine);
    const { result, events } = await run(model);
    expect(result).toMatchObject({ status: "completed", result: "All is well." });
    expect(asked).toBe(2);
    expect(ofType(events, "agent.retried")).toMatchObject([
      { payload: { what: "request", delay_ms: 60 } },
    ]);
    expect(ofType(events, "agent.subagent_attempt")).toHaveLength(1);
    expect(result.tokenUsage).toMatchObject({ prompt: 9, completion: 3 });
  });

  it("fault 6: one that asks for more time than there is fails at once", async () => {
    answers(refuse(429, "slow down", { "retry-after": "30" }), fine);
    const { result } = await run(model, {}, { timeoutMs: 25_000 });
    expect(result).toMatchObject({ status: "failed", closeReason: "provider_unavailable" });
    expect(result.result).toMatch(/30000 ms/);
    expect(asked).toBe(1);
  });

  it("fault 6: a 429 without retry-after is a spend cap: failed, and never asked again", async () => {
    answers(refuse(429, "You exceeded your current quota"), fine);
    const { result, events } = await run(model);
    expect(result).toMatchObject({ status: "failed", closeReason: "provider_unavailable" });
    expect(asked).toBe(1);
    expect(ofType(events, "agent.retried")).toEqual([]);
    expect(result.tokenUsage).toEqual({ prompt: 0, completion: 0, cost: 0 });
  });

  it.each([503, 529])(
    "fault 7: a %i is asked again with jittered, growing, bounded waits",
    async (status) => {
      answers(refuse(status, "overloaded"));
      const { result, events } = await run(model);
      expect(result).toMatchObject({ status: "failed", closeReason: "provider_unavailable" });
      expect(asked).toBe(3 * 2);
      const retries = ofType(events, "agent.retried").map(({ payload }) => payload);
      expect(retries.map(({ what }) => what)).toEqual([
        "request",
        "request",
        "attempt",
        "request",
        "request",
      ]);
      const [first, second] = retries;
      expect(first?.delay_ms).toBeGreaterThanOrEqual(2);
      expect(first?.delay_ms).toBeLessThanOrEqual(4);
      expect(second?.delay_ms).toBeGreaterThanOrEqual(4);
      expect(second?.delay_ms).toBeLessThanOrEqual(8);
    },
  );

  it("fault 7: an overload that passes leaves no trace in the result", async () => {
    answers(refuse(503, "overloaded"), refuse(529, "overloaded"), fine);
    const { result } = await run(model);
    expect(result).toMatchObject({ status: "completed", result: "All is well." });
    expect(result.tokenUsage).toMatchObject({ prompt: 9, completion: 3 });
  });

  it("fault 8: a stream that is cut inside a call makes no call and is asked again", async () => {
    const cut = say({ text: "I will look.", arguments: '{"patt', isComplete: false }, (response) =>
      response.destroy(),
    );
    answers(cut, say({ text: "Now.", arguments: '{"pattern":"x"}' }), fine);
    const { result, events } = await run(model);
    expect(result.status).toBe("completed");
    expect(searches).toBe(1);
    expect(asked).toBe(3);
    expect(ofType(events, "agent.model_turn")).toHaveLength(2);
    const settled = ofType(events, "agent.budget_settled").map(({ payload }) => payload);
    expect(settled.map(({ request }) => request)).toEqual([1, 2, 3]);
    // Nobody knows what the cut request cost: the bound of its prompt and what had arrived of its answer.
    const [reserved] = ofType(events, "agent.budget_reserved");
    expect(settled[0]).toMatchObject({ estimated: true, prompt: reserved?.payload.prompt });
    expect(settled[0]?.completion).toBeGreaterThanOrEqual("I will look.".length);
    expect(settled[0]?.completion).toBeLessThanOrEqual('I will look.{"patt'.length);
    expect(result.tokenUsage.estimated).toBe(true);
    expect(settled.slice(1)).toMatchObject(Array(2).fill({ prompt: 9, completion: 3 }));
  });

  // take-turn.ts, afterFault: the fault's `partial` goes nowhere.
  it("fault 8: what had arrived before the cut is kept as data", async () => {
    const cut = say({ text: "I will look.", arguments: '{"patt', isComplete: false });
    answers(cut, fine);
    const { events } = await run(model);
    expect(JSON.stringify(events)).toContain("I will look.");
  });

  it("fault 10: an answer cut for its length is not a success; it is asked for once more", async () => {
    const cut = say({ text: "The beginning of", finish: "length" });
    answers(cut, fine);
    expect((await run(model)).result).toMatchObject({
      status: "completed",
      result: "All is well.",
    });
    answers(cut);
    const limits = { maxRetries: 0 };
    expect((await run(model, { limits })).result).toMatchObject({
      status: "failed",
      closeReason: "truncated",
    });
  });

  it("fault 12: a conversation that is too long is shortened, and not sent again in vain", async () => {
    const long = refuse(400, "prompt is too long: 201000 tokens > 200000 maximum");
    const much = say({ arguments: '{"pattern":"much"}' });
    answers(much, long, fine);
    const once = await run(model);
    expect(once.result.status).toBe("completed");
    expect(ofType(once.events, "agent.compacted")).toHaveLength(1);
    asked = 0;
    answers(much, long);
    const often = await run(model);
    expect(often.result.status).toBe("failed");
    expect(often.result.result).toMatch(/does not fit the model's window/);
    expect(asked).toBe(2 + ofType(often.events, "agent.compacted").length);
    expect(asked).toBeLessThan(6);
    asked = 0;
    answers(long);
    const never = await run(model);
    expect(never.result.closeReason).toBe("no_progress");
    expect(asked).toBe(1);
  });

  it("a key that is refused fails at once, and is nowhere in the log", async () => {
    answers(refuse(401, "Incorrect API key provided: key-canary"), fine);
    const { result } = await run(model);
    expect(result).toMatchObject({ status: "failed", closeReason: "provider_unavailable" });
    expect(asked).toBe(1);
  });
});

describe("a provider that does not report usage", () => {
  it("is charged the worst case that can be told from the bytes, marked as estimated", async () => {
    const model = "openai-chat/gpt-4.1";
    const events = protocols[model]?.({ text: "All is well.", usage: false }) ?? [];
    answers((response) => sendEvents(response, events));
    const { result, events: log } = await run(model);
    const [settled] = ofType(log, "agent.budget_settled");
    expect(settled?.payload.estimated).toBe(true);
    expect(settled?.payload.completion).toBeGreaterThanOrEqual("All is well.".length);
    expect(result.tokenUsage.prompt).toBeGreaterThan(512);
  });
});
