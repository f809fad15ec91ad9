import assert from "node:assert/strict";
import type { ServerResponse } from "node:http";
import fc, { type Arbitrary } from "fast-check";
import { exampleRequest } from "../../../src/models/example-request.test-support.ts";
import { createModelRegistry } from "../../../src/models/model-registry.ts";
import { protocols } from "../../../src/models/wire-protocols.test-support.ts";
import { startWireServer } from "../../../src/models/wire-server.test-support.ts";
import { ModelFault } from "../../../src/ports/model.ts";
import { nastyJson, nastyText } from "../hostile-text.ts";
import { mutated } from "../mutate-text.ts";
import { defineTarget } from "../target.ts";

const key = "sk-canary-31415926";

interface Answer {
  readonly model: string;
  readonly status: number;
  readonly type: string;
  readonly body: Buffer;
  readonly isCut: boolean;
}

function bodiesOf(model: string): readonly Buffer[] {
  const events = protocols[model];
  if (events === undefined) return [];
  const replies = [
    events({ text: "hello" }),
    events({ text: "hm", arguments: '{"pattern":"a"}' }),
    events({ text: "", arguments: '{"pat', isComplete: false }),
  ];
  const streams = replies.map((list) => {
    const lines = list.map((event) => {
      const { type } = event as { type?: string };
      return `${type === undefined ? "" : `event: ${type}\n`}data: ${JSON.stringify(event)}\n\n`;
    });
    return Buffer.from(`${lines.join("")}data: [DONE]\n\n`);
  });
  const errors = [
    '{"error":{"message":"no","type":"invalid_request_error","code":400}}',
    "<html>502 Bad Gateway</html>",
    "",
  ];
  return [...streams, ...errors.map((text) => Buffer.from(text))];
}

const words = [
  "data: ",
  "\n\n",
  "[DONE]",
  '"tool_use"',
  '"id":null',
  '"index":-1',
  '"index":1e9',
  "null",
  '"usage":{}',
  '"input_tokens":-5',
  '"output_tokens":1e300',
  '"finish_reason":"stop"',
  '{"error":{}}',
  key,
];

const answers: Arbitrary<Answer> = fc.constantFrom(...Object.keys(protocols)).chain((model) =>
  fc.record({
    model: fc.constant(model),
    status: fc.constantFrom(200, 200, 200, 200, 400, 401, 404, 429, 500, 529),
    type: fc.constantFrom(
      "text/event-stream",
      "text/event-stream",
      "application/json",
      "text/html",
    ),
    body: fc.oneof(
      { weight: 6, arbitrary: mutated(bodiesOf(model), words) },
      nastyJson.map((value) => Buffer.from(`data: ${JSON.stringify(value)}\n\n`)),
      nastyText.map((text) => Buffer.from(text)),
    ),
    isCut: fc.boolean(),
  }),
);

export const modelAnswers = defineTarget({
  name: "model-answers",
  surface: "models",
  promise:
    "whatever a provider sends is a reply in order or a fault of a known kind, and no key is in it",
  caseMs: 3000,
  cases: 120,
  async open() {
    const server = await startWireServer();
    const registry = createModelRegistry({
      environment: {
        ...{ ANTHROPIC_API_KEY: key, ANTHROPIC_BASE_URL: server.url },
        ...{ GOOGLE_GENERATIVE_AI_API_KEY: key, GOOGLE_GENERATIVE_AI_BASE_URL: server.url },
        ...{ OPENAI_API_KEY: key, OPENAI_BASE_URL: `${server.url}/v1` },
      },
      config: { providers: { local: { kind: "openai-compatible", baseUrl: `${server.url}/v1` } } },
    });
    const tools = [{ name: "grep", description: "searches", parameters: { type: "object" } }];
    const ask = new Map(Object.keys(protocols).map((name) => [name, registry.resolve(name)]));
    return {
      inputs: answers,
      async check({ body, isCut, model, status, type }: Answer) {
        server.bodies.length = 0;
        server.answer = (response: ServerResponse) => {
          response.writeHead(status, { "content-type": type });
          response.write(body);
          if (isCut) response.write(" ", () => response.destroy());
          else response.end();
        };
        try {
          const reply = await ask.get(model)?.(exampleRequest({ model, tools }), () => undefined);
          assert.ok(reply);
          assert.equal(typeof reply.text, "string");
          assert.equal(new Set(reply.calls.map(({ id }) => id)).size, reply.calls.length);
          for (const { id, input, malformed, name } of reply.calls) {
            assert.ok(typeof id === "string" && id !== "" && typeof name === "string");
            assert.ok(malformed === undefined || input === undefined);
          }
          if (reply.usage !== null) {
            for (const count of Object.values(reply.usage)) {
              assert.ok(
                Number.isSafeInteger(count) && count >= 0,
                `usage ${JSON.stringify(reply.usage)}`,
              );
            }
          }
        } catch (error) {
          if (!(error instanceof ModelFault)) throw error;
          assert.ok(!error.message.includes(key), "a key is told");
          assert.ok(error.message.length < 5000);
        }
      },
      close: () => server.close(),
    };
  },
});
