import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { expect, it } from "vitest";
import { startEchoEndpoint } from "./echo-endpoint.test-support.ts";

const clients = 50;
const callsOfEach = 5;

/** Keeps every byte that a client was sent, whatever its package makes of them. */
function recordingFetch(received: string[]): typeof fetch {
  return async (input, init) => {
    const response = await fetch(input, init);
    if (response.body === null) return response;
    const decoder = new TextDecoder();
    const recorder = new TransformStream<Uint8Array, Uint8Array>({
      transform(chunk, controller) {
        received.push(decoder.decode(chunk, { stream: true }));
        controller.enqueue(chunk);
      },
    });
    const { status, headers } = response;
    return new Response(response.body.pipeThrough(recorder), { status, headers });
  };
}

it("keeps fifty clients with the same request ids apart to the last byte", async () => {
  const endpoint = await startEchoEndpoint();
  const secretOf = (index: number): string => `secret-${index}-of-client`;
  const used = { legacy: 0, modern: 0 };
  const received = await Promise.all(
    Array.from({ length: clients }, async (_, index) => {
      const bytes: string[] = [];
      const mode = index % 2 === 0 ? "legacy" : "auto";
      const client = new Client(
        { name: "one of many", version: "1.0.0" },
        { versionNegotiation: { mode } },
      );
      const transport = new StreamableHTTPClientTransport(new URL(endpoint.url), {
        fetch: recordingFetch(bytes),
        requestInit: { headers: { authorization: `Bearer client-${index}` } },
      });
      await client.connect(transport);
      used[client.getProtocolEra() ?? "legacy"]++;
      const progress: string[] = [];
      const texts = Array.from({ length: callsOfEach }, (_, turn) => `${secretOf(index)} ${turn}`);
      const results = await Promise.all(
        texts.map((text) =>
          client.callTool(
            { name: "echo", arguments: { text } },
            { onprogress: ({ message }) => progress.push(message ?? "") },
          ),
        ),
      );
      const said = results.map(({ content }) => {
        const [first] = content;
        return JSON.parse(first?.type === "text" ? first.text : "{}");
      });
      expect(said.map(({ text }) => text)).toEqual(texts);
      expect(new Set(said.map(({ owner }) => owner))).toEqual(new Set([`client-${index}`]));
      expect(progress.sort()).toEqual(texts.map((text) => `client-${index} ${text}`).sort());
      await client.close();
      return bytes.join("");
    }),
  );
  expect(used).toEqual({ legacy: clients / 2, modern: clients / 2 });
  const foreign = received.flatMap((bytes, index) => {
    const others = Array.from({ length: clients }, (_, other) => other).filter(
      (other) => other !== index,
    );
    expect(bytes).toContain(secretOf(index));
    return others.filter((other) => bytes.includes(secretOf(other)));
  });
  expect(foreign).toEqual([]);
});
