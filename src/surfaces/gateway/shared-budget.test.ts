import Anthropic from "@anthropic-ai/sdk";
import { describe, expect, it } from "vitest";
import { ofType } from "../../testing/engine-fixture.ts";
import { until } from "../../testing/until.ts";
import { openScene } from "./gateway.test-support.ts";

const ask = {
  model: "claude-sonnet-4-5",
  max_tokens: 400,
  messages: [{ role: "user", content: "hi" }],
};

describe("many requests on one cap", () => {
  it("never cost the provider more than the cap, however many clients ask at once", async () => {
    const maxCost = 0.1;
    await using scene = await openScene({ maxCost, maxTokens: 1_000_000 });
    const { engine, gateway, post, provider } = scene;
    // As much as each request allows.
    provider.reported = { prompt: 500, completion: 390 };
    const answers = await Promise.all(
      Array.from({ length: 100 }, (_one, index) =>
        post("/anthropic/v1/messages", { ...ask, stream: index % 2 === 0 }),
      ),
    );
    const texts = await Promise.all(answers.map((answer) => answer.text()));
    const served = answers.filter(({ status }) => status === 200).length;
    expect(provider.billed).toHaveLength(served);
    const spent = provider.billedTokens.reduce(
      (sum, { completion, prompt }) => sum + (prompt * 3 + completion * 15) / 1e6,
      0,
    );
    expect(spent).toBeLessThanOrEqual(maxCost);
    expect(spent).toBeGreaterThan(maxCost / 2);
    const refused = texts.filter((_text, index) => answers[index]?.status === 400);
    expect(refused).toHaveLength(100 - served);
    for (const text of refused) expect(text).toMatch(/billing_error.*cost cap/);
    const events = await engine.events(gateway.session.runId);
    expect(ofType(events, "agent.budget_settled")).toHaveLength(served);
    expect(ofType(events, "agent.request_refused").length).toBeLessThanOrEqual(100);
  });

  it("that repeat a tool by reference reserve its description for each reference", async () => {
    await using scene = await openScene({ maxTokens: 100_000 });
    const tool = {
      name: "big",
      description: "x".repeat(4000),
      input_schema: {},
      defer_loading: true,
    };
    const content = Array.from({ length: 50 }, () => ({
      type: "tool_reference",
      tool_name: "big",
    }));
    const result = { type: "tool_result", tool_use_id: "t", content };
    const messages = [{ role: "user", content: [result] }];
    const answer = await scene.post("/anthropic/v1/messages", { ...ask, messages, tools: [tool] });
    expect([answer.status, await answer.text()]).toEqual([
      400,
      expect.stringMatching(/budget is too small/),
    ]);
    expect(scene.provider.billed).toEqual([]);
  });

  it("limit the output of a server that knows only the older name of the limit", async () => {
    await using scene = await openScene();
    const { token } = await scene.open({ models: ["openrouter/some/model"] });
    for (const limit of [
      {},
      { max_completion_tokens: 50 },
      { max_tokens: 50 },
      { max_tokens: null },
    ]) {
      const headers = { "x-api-key": token };
      const sent = { model: "some/model", messages: ask.messages, ...limit };
      expect((await scene.post("/openai/v1/chat/completions", sent, headers)).status).toBe(200);
      expect(scene.provider.asked.at(-1)?.body).toMatchObject({ max_tokens: expect.any(Number) });
      expect(scene.provider.asked.at(-1)?.body).not.toHaveProperty("max_completion_tokens");
    }
  });

  it("are refused so that a client of the provider does not ask again", async () => {
    await using scene = await openScene({ maxTokens: 100 });
    const client = new Anthropic({
      apiKey: scene.token,
      baseURL: `${scene.url}/anthropic`,
      maxRetries: 5,
    });
    const asking = client.messages.create({ ...ask, messages: [{ role: "user", content: "hi" }] });
    await expect(asking).rejects.toMatchObject({
      status: 400,
      message: expect.stringMatching(/budget is too small/),
    });
    expect(scene.provider.billed).toEqual([]);
    const { session } = scene.gateway;
    expect(ofType(await scene.engine.events(session.runId), "agent.request_refused")).toHaveLength(
      1,
    );
  });

  it("have their own limits lowered to what is left, thoughts included", async () => {
    await using scene = await openScene({ maxTokens: 8000 });
    const thinking = { type: "enabled", budget_tokens: 30_000 };
    await scene.post("/anthropic/v1/messages", { ...ask, max_tokens: 64_000, thinking });
    await scene.post("/openai/v1/responses", { model: "gpt-4.1", input: "hi" });
    await scene.post("/openai/v1/chat/completions", {
      model: "gpt-4.1",
      messages: [{ role: "user", content: "hi" }],
    });
    await scene.post("/google/v1beta/models/gemini-2.5-flash:generateContent", {
      contents: [{ parts: [{ text: "hi" }] }],
      generation_config: {
        max_output_tokens: 60_000,
        thinking_config: { thinking_budget: 50_000 },
      },
    });
    const [messages, responses, chat, gemini] = scene.provider.billed.map(({ body }) => body);
    const most = Number(messages?.["max_tokens"]);
    expect(most).toBeLessThan(8000);
    expect(messages?.["thinking"]).toEqual({
      type: "enabled",
      budget_tokens: Math.floor(most / 2),
    });
    expect(responses).toMatchObject({ store: false, max_output_tokens: expect.any(Number) });
    expect(chat).toMatchObject({ max_completion_tokens: expect.any(Number) });
    expect(gemini).toHaveProperty("generationConfig.maxOutputTokens");
    const configuration = JSON.stringify(gemini?.["generationConfig"]);
    const [, budget] = /"thinkingBudget":(\d+)/.exec(configuration) ?? [];
    const [, limit] = /"maxOutputTokens":(\d+)/.exec(configuration) ?? [];
    expect(Number(limit)).toBeLessThan(8000);
    expect(Number(budget)).toBeLessThan(Number(limit));
    expect(gemini).not.toHaveProperty("generation_config");
  });

  it("name small models of their own, and are answered by a granted one", async () => {
    await using scene = await openScene();
    const answer = await scene.post("/anthropic/v1/messages", {
      ...ask,
      model: "claude-3-haiku-20240307",
    });
    expect(answer.status).toBe(200);
    expect(scene.provider.billed[0]?.body["model"]).toBe("claude-sonnet-4-5");
    const events = await scene.engine.events(scene.gateway.session.runId);
    expect(ofType(events, "agent.model_clamped").map(({ payload }) => payload)).toEqual([
      { requested: "claude-3-haiku-20240307", granted: "anthropic/claude-sonnet-4-5" },
    ]);
  });

  it("write into the cache for an hour at twice the price of input", async () => {
    await using scene = await openScene({ maxCost: 1 });
    const content = [{ type: "text", text: "hi", cache_control: { type: "ephemeral", ttl: "1h" } }];
    await scene.post("/anthropic/v1/messages", { ...ask, messages: [{ role: "user", content }] });
    const events = await scene.engine.events(scene.gateway.session.runId);
    const [{ payload } = { payload: { cost: 0, prompt: 0 } }] = ofType(
      events,
      "agent.budget_reserved",
    );
    expect(payload.cost).toBeCloseTo(((payload.prompt ?? 0) * 6 + 400 * 15) / 1e6, 9);
  });
});

describe("a stream", () => {
  const streamed = { ...ask, stream: true };

  it("is passed on while it arrives", async () => {
    await using scene = await openScene();
    const { promise, resolve } = Promise.withResolvers<void>();
    scene.provider.pause = promise;
    const answer = await scene.post("/anthropic/v1/messages", streamed);
    const reader = answer.body?.getReader();
    const first = await reader?.read();
    expect(Buffer.from(first?.value ?? []).toString()).toMatch(/message_start/);
    resolve();
    for (;;) if ((await reader?.read())?.done !== false) break;
  });

  it("that its program leaves is cut at the provider, and settled as an estimate", async () => {
    await using scene = await openScene();
    const { promise: isClosed, resolve: close } = Promise.withResolvers<void>();
    scene.provider.answer = (response) => {
      response.writeHead(200, { "content-type": "text/event-stream" });
      const delta = { type: "text_delta", text: "twelve bytes" };
      response.write(`data: ${JSON.stringify({ type: "content_block_delta", delta })}\n\n`);
      response.on("close", close);
    };
    const left = new AbortController();
    const answer = await fetch(`${scene.url}/anthropic/v1/messages`, {
      method: "POST",
      headers: { "content-type": "application/json", "x-api-key": scene.token },
      body: JSON.stringify(streamed),
      signal: left.signal,
    });
    await answer.body?.getReader().read();
    left.abort();
    await isClosed;
    const settled = await until("it is settled", async () => {
      const events = await scene.engine.events(scene.gateway.session.runId);
      return ofType(events, "agent.budget_settled")[0];
    });
    expect(settled.payload).toMatchObject({ completion: 12, estimated: true });
  });

  it("whose output a program does not see being made costs its worst case when the program leaves", async () => {
    const bodies: readonly (readonly [string, object])[] = [
      ["/anthropic/v1/messages", ask],
      [
        "/anthropic/v1/messages",
        { ...streamed, max_tokens: 4000, thinking: { type: "enabled", budget_tokens: 2000 } },
      ],
      ["/openai/v1/responses", { model: "gpt-4.1", input: "hi", max_output_tokens: 400 }],
      [
        "/openai/v1/chat/completions",
        { ...ask, model: "gpt-4.1", stream: true, reasoning_effort: "high" },
      ],
      [
        "/google/v1beta/models/gemini-2.5-flash:streamGenerateContent?alt=sse",
        { contents: "hi", generationConfig: { maxOutputTokens: 400 } },
      ],
    ];
    for (const [path, body] of bodies) {
      await using scene = await openScene();
      const { promise: isAsked, resolve: asked } = Promise.withResolvers<void>();
      scene.provider.answer = (response) => {
        response.writeHead(200, { "content-type": "text/event-stream" });
        response.write(": thinking\n\n", () => asked());
      };
      const left = new AbortController();
      const asking = fetch(`${scene.url}${path}`, {
        method: "POST",
        headers: { "content-type": "application/json", "x-api-key": scene.token },
        body: JSON.stringify(body),
        signal: left.signal,
      }).catch(() => undefined);
      await isAsked;
      left.abort();
      await asking;
      const settled = await until("it is settled", async () => {
        const events = await scene.engine.events(scene.gateway.session.runId);
        return ofType(events, "agent.budget_settled")[0];
      });
      const completion = body === bodies[1]?.[1] ? 4000 : 400;
      expect([path, settled.payload]).toEqual([
        path,
        expect.objectContaining({ completion, estimated: true }),
      ]);
    }
  });

  it("that the provider cuts is settled as an estimate", async () => {
    await using scene = await openScene();
    scene.provider.answer = (response) => {
      response.writeHead(200, { "content-type": "text/event-stream" });
      response.write(
        'data: {"type":"message_start","message":{"usage":{"input_tokens":3}}}\n\n',
        () => response.destroy(),
      );
    };
    const answer = await scene.post("/anthropic/v1/messages", streamed);
    await expect(answer.text()).rejects.toThrow();
    const events = await scene.engine.events(scene.gateway.session.runId);
    expect(ofType(events, "agent.budget_settled")[0]?.payload).toMatchObject({ estimated: true });
  });

  it("says why it ends when the run is cancelled", async () => {
    await using scene = await openScene();
    const { runId } = scene.gateway.session;
    scene.provider.pause = new Promise(() => undefined);
    const answer = await scene.post("/anthropic/v1/messages", streamed);
    const cancelled = scene.engine.engine.cancel(runId, "enough");
    expect(await answer.text()).toMatch(/event: error\ndata: .*did not send.*enough/);
    await cancelled;
    const next = await scene.post("/anthropic/v1/messages", ask);
    expect([next.status, await next.text()]).toEqual([400, expect.stringMatching(/enough/)]);
    const [settled] = ofType(await scene.engine.events(runId), "agent.budget_settled");
    expect(settled?.payload).toMatchObject({ estimated: true });
  });

  it("of an error of the provider reaches the program, without the key", async () => {
    await using scene = await openScene();
    scene.provider.answer = (response, { headers }) => {
      response.writeHead(429, { "retry-after": "7", "x-internal": "no" });
      response.end(JSON.stringify({ error: { message: `rate limit of ${headers["x-api-key"]}` } }));
    };
    const answer = await scene.post("/anthropic/v1/messages", streamed);
    expect([answer.status, answer.headers.get("retry-after")]).toEqual([429, "7"]);
    expect(answer.headers.get("x-internal")).toBeNull();
    expect(await answer.text()).toBe('{"error":{"message":"rate limit of [key]"}}');
    const events = await scene.engine.events(scene.gateway.session.runId);
    expect(ofType(events, "agent.budget_settled")[0]?.payload).toMatchObject({
      prompt: 0,
      cost: 0,
    });
  });
});
