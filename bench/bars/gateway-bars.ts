import { setTimeout as delay } from "node:timers/promises";
import { openScene } from "../../src/surfaces/gateway/gateway.test-support.ts";
import { realKeys } from "../../src/testing/mock-provider.test-support.ts";
import { type Bar, clockTime, ratio } from "./bar.ts";

/** Milliseconds until a provider says its first word: less than any real one needs. */
const thinkingMs = 60;
const rounds = { rounds: 15, time: clockTime };

const asked = {
  model: "claude-sonnet-4-5",
  max_tokens: 400,
  messages: [{ role: "user", content: "a ".repeat(8000) }],
};

async function post(url: string, key: string, body: object): Promise<void> {
  const answer = await fetch(url, {
    method: "POST",
    headers: { "content-type": "application/json", "x-api-key": key },
    body: JSON.stringify(body),
  });
  await answer.text();
  if (answer.status !== 200) throw new Error(`The answer was ${answer.status}.`);
}

function bar(name: string, about: string, { isStreaming = false }): Bar {
  return {
    name: `gateway: ${name}`,
    about,
    atMost: 1.2,
    async measure() {
      await using scene = await openScene({ maxTokens: 1e9 });
      const { provider, token, url } = scene;
      if (isStreaming) {
        Object.defineProperty(provider, "pause", { get: () => delay(thinkingMs) });
      } else {
        const reply = JSON.stringify({
          ...{ type: "message", model: asked.model, content: [], stop_reason: "end_turn" },
          usage: { input_tokens: 9, output_tokens: 3 },
        });
        provider.answer = (response) => void delay(thinkingMs).then(() => response.end(reply));
      }
      const body = { ...asked, stream: isStreaming };
      return await ratio(
        () => post(`${url}/anthropic/v1/messages`, token, body),
        () => post(`${provider.url}/v1/messages`, realKeys.ANTHROPIC_API_KEY, body),
        rounds,
      );
    },
  };
}

/** What the metering of another program's requests costs that program. */
export const gatewayBars: readonly Bar[] = [
  bar("an answer", "through the gateway over direct, the provider takes 60 ms", {}),
  bar("a stream", "through the gateway over direct, the provider takes 60 ms", {
    isStreaming: true,
  }),
];
