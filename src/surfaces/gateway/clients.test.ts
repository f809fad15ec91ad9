import Anthropic from "@anthropic-ai/sdk";
import { GoogleGenAI } from "@google/genai";
import OpenAI from "openai";
import { describe, expect, it } from "vitest";
import { ofType } from "../../testing/engine-fixture.ts";
import { realKeys } from "../../testing/mock-provider.test-support.ts";
import { type GatewayScene, openScene } from "./gateway.test-support.ts";

const said = "Hello from the provider.";

/** Each client asks as its documentation says, with and without a stream. */
const clients: Record<string, (scene: GatewayScene) => Promise<string>> = {
  async "Anthropic messages"({ token, url }) {
    const client = new Anthropic({ apiKey: token, baseURL: `${url}/anthropic`, maxRetries: 0 });
    const message = await client.messages.create({
      model: "claude-sonnet-4-5",
      max_tokens: 500,
      messages: [{ role: "user", content: "hello" }],
    });
    return message.content.map((block) => (block.type === "text" ? block.text : "")).join("");
  },
  async "Anthropic messages, streamed"({ token, url }) {
    const client = new Anthropic({ authToken: token, apiKey: null, baseURL: `${url}/anthropic` });
    const stream = client.messages.stream({
      model: "claude-sonnet-4-5",
      max_tokens: 500,
      messages: [{ role: "user", content: "hello" }],
    });
    return stream.finalText();
  },
  async "OpenAI responses"({ token, url }) {
    const client = new OpenAI({ apiKey: token, baseURL: `${url}/openai/v1` });
    return (await client.responses.create({ model: "gpt-4.1", input: "hello" })).output_text;
  },
  async "OpenAI responses, streamed"({ token, url }) {
    const client = new OpenAI({ apiKey: token, baseURL: `${url}/openai/v1` });
    const stream = client.responses.stream({ model: "gpt-4.1", input: "hello" });
    return (await stream.finalResponse()).output_text;
  },
  async "OpenAI chat completions"({ token, url }) {
    const client = new OpenAI({ apiKey: token, baseURL: `${url}/openai/v1` });
    const { choices } = await client.chat.completions.create({
      model: "gpt-4.1",
      messages: [{ role: "user", content: "hello" }],
    });
    return choices[0]?.message.content ?? "";
  },
  async "OpenAI chat completions, streamed"({ token, url }) {
    const client = new OpenAI({ apiKey: token, baseURL: `${url}/openai/v1` });
    const stream = await client.chat.completions.create({
      model: "gpt-4.1",
      messages: [{ role: "user", content: "hello" }],
      stream: true,
    });
    let text = "";
    // Without `include_usage` a client may rely on a choice in every chunk.
    for await (const { choices } of stream) {
      expect(choices).toHaveLength(1);
      text += choices[0]?.delta.content ?? "";
    }
    return text;
  },
  async "Google generateContent"({ token, url }) {
    const client = new GoogleGenAI({ apiKey: token, httpOptions: { baseUrl: `${url}/google` } });
    const asked = { model: "gemini-2.5-flash", contents: "hello" };
    return (await client.models.generateContent(asked)).text ?? "";
  },
  async "Google generateContentStream"({ token, url }) {
    const client = new GoogleGenAI({ apiKey: token, httpOptions: { baseUrl: `${url}/google` } });
    const asked = { model: "gemini-2.5-flash", contents: "hello" };
    let text = "";
    for await (const chunk of await client.models.generateContentStream(asked)) text += chunk.text;
    return text;
  },
};

describe("the client library of a provider", () => {
  for (const [name, ask] of Object.entries(clients)) {
    it(`works unchanged: ${name}`, async () => {
      await using scene = await openScene({ maxCost: 2 });
      const { engine, gateway, provider, token } = scene;
      provider.reported = { prompt: 140, completion: 33, cached: 40 };
      expect(await ask(scene)).toBe(said);
      const events = await engine.events(gateway.session.runId);
      const [turn] = ofType(events, "agent.model_turn");
      expect(turn?.payload).toMatchObject({ text: said, usage: { prompt: 140, completion: 33 } });
      const [settled] = ofType(events, "agent.budget_settled");
      expect(settled?.payload).toMatchObject({ prompt: 140, completion: 33 });
      expect(settled?.payload.cost).toBeGreaterThan(0);
      // The provider got the real key, and nothing of the program's.
      const [asked] = provider.asked;
      const sent = JSON.stringify(asked);
      expect(sent).not.toContain(token);
      expect(sent).not.toMatch(/stainless/i);
      expect(Object.values(realKeys).filter((key) => sent.includes(key))).toHaveLength(1);
    });
  }
});
