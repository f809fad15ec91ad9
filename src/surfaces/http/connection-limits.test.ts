import { once } from "node:events";
import { setTimeout as wait } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { defineRoute } from "./route.ts";
import { openServer, readAll, type TestServer } from "./server.test-support.ts";

const size = 12 * 1024 * 1024;

const large = defineRoute({
  id: "getLarge",
  method: "GET",
  path: "/large",
  summary: "Much",
  tag: "things",
  role: "viewer",
  reply: z.object({ text: z.string() }),
  handle: () => ({ text: "x".repeat(size) }),
});

function asked({ server, token }: TestServer, path: string): string {
  return `GET ${path} HTTP/1.1\r\nHost: 127.0.0.1:${server.port}\r\nAuthorization: Bearer ${token}\r\n\r\n`;
}

describe("what one connection may cost", () => {
  it("answers a few requests that are sent at once, in their order", async () => {
    await using http = await openServer();
    const socket = http.socket();
    socket.write(["one", "two", "three"].map((id) => asked(http, `/api/v1/things/${id}`)).join(""));
    const answersIn = (text: string) => text.match(/\{"id":"\w+"\}/g) ?? [];
    let received = "";
    socket.on("data", (chunk) => {
      received += String(chunk);
      if (answersIn(received).length === 3) socket.end();
    });
    expect(answersIn(await readAll(socket))).toEqual([
      '{"id":"one"}',
      '{"id":"two"}',
      '{"id":"three"}',
    ]);
  });

  it("cuts off whoever sends hundreds without waiting for an answer", async () => {
    await using http = await openServer();
    const socket = http.socket();
    socket.write(asked(http, "/api/v1/things/one").repeat(500));
    const text = await readAll(socket);
    expect(text.split("HTTP/1.1 ").length - 1).toBeLessThanOrEqual(4);
    expect((await http.send({ path: "/api/v1/things/one" })).status).toBe(200);
  });

  it("cuts off whoever does not take an answer, and nobody who takes it slowly", async () => {
    await using http = await openServer({ routes: [large], timeouts: { stalledMs: 400 } });
    const stalled = http.socket();
    stalled.on("error", () => undefined);
    stalled.write(asked(http, "/api/v1/large"));
    stalled.pause();
    const slow = http.socket();
    slow.write(asked(http, "/api/v1/large"));
    let taken = 0;
    for await (const chunk of slow) {
      taken += (chunk as Buffer).length;
      // In all it takes several times as long as somebody may who takes nothing.
      await wait(10);
      if (taken >= size) break;
    }
    slow.destroy();
    // Only what lay in the buffers of the machine can still be read.
    let rest = 0;
    stalled.on("data", (chunk) => {
      rest += chunk.length;
    });
    stalled.resume();
    await once(stalled, "close");
    expect(rest).toBeLessThan(size);
  });
});
