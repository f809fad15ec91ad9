import assert from "node:assert/strict";
import fc from "fast-check";
import { nastyText } from "../hostile-text.ts";
import { defineTarget } from "../target.ts";
import { openHttpServer } from "./http-server.ts";
import { plainValue } from "./http-targets.ts";

const firstLines = [
  "GET /api/v1/runs HTTP/1.1",
  "POST /api/v1/runs HTTP/1.1",
  "GET /api/v1/runs HTTP/1.0",
  "GET http://evil.example/ HTTP/1.1",
  "OPTIONS * HTTP/1.1",
  "PRI * HTTP/2.0",
  "GET /api/v1/runs",
  "get / HTTP/1.1",
  "\x16\x03\x01",
  "POST /mcp HTTP/1.1",
];
const rawHeaders = [
  "Content-Length: 4",
  "Content-Length: 0",
  "Content-Length: 4, 4",
  "Content-Length: -1",
  "Content-Length : 4",
  "Transfer-Encoding: chunked",
  "Transfer-Encoding: xchunked",
  "Transfer-Encoding: chunked, identity",
  "Transfer-Encoding:\x0bchunked",
  "Content-Type: application/json",
  " folded: x",
  "X: \x00",
  "Connection: close",
  "Connection: Upgrade",
  "Upgrade: websocket",
  "Expect: 100-continue",
  "Host: evil.example",
  "Authorization: Bearer x",
  "A:".repeat(9000),
];
const rawBodies = [
  "",
  "{}",
  "0\r\n\r\n",
  "4\r\n{}{}\r\n0\r\n\r\n",
  "zz\r\n",
  "ffffffffffffffff\r\n",
];

export const rawConnections = defineTarget({
  name: "raw-connections",
  surface: "http",
  promise:
    "bytes that are no clear request are answered with one refusal, or cut off, and smuggle nothing",
  caseMs: 3000,
  cases: 25,
  async open() {
    const server = await openHttpServer();
    const second = "GET /api/v1/smuggled HTTP/1.1\r\nHost: localhost\r\n\r\n";
    return {
      inputs: fc.record({
        first: fc.constantFrom(...firstLines),
        lines: fc.array(fc.constantFrom(...rawHeaders), { maxLength: 5 }),
        body: fc.constantFrom(...rawBodies),
        eol: fc.constantFrom("\r\n", "\r\n", "\r\n", "\n"),
        isTrusted: fc.boolean(),
      }),
      async check({ body, eol, first, isTrusted, lines }) {
        const usual = isTrusted
          ? [`Host: 127.0.0.1:${server.port}`, `Authorization: Bearer ${server.token}`]
          : [];
        const text = await server.exchange(
          [first, ...usual, ...lines, "", ""].join(eol) + body + second,
          1500,
        );
        const statuses = [...text.matchAll(/^HTTP\/1\.1 (\d+)/gm)].map(([, code]) => Number(code));
        assert.ok(
          statuses.every((code) => code < 500 || code === 501 || code === 505),
          text.slice(0, 300),
        );
        const lengths = lines.filter((line) => /^(content-length|transfer-encoding)/i.test(line));
        if (lengths.length > 1)
          assert.ok(statuses.length <= 2 && !statuses.includes(200), text.slice(0, 200));
        const fine = await server.send({
          method: "GET",
          path: "/api/v1/runs?limit=1",
          body: "",
          headers: [
            ["host", `127.0.0.1:${server.port}`],
            ["authorization", `Bearer ${server.token}`],
          ],
        });
        assert.equal(fine.status, 200);
      },
      close: () => server.close(),
    };
  },
});

export const repeatedRequests = defineTarget({
  name: "repeated-requests",
  surface: "http",
  promise:
    "a request under a key is done once, repeated word for word, and refused for another body",
  caseMs: 3000,
  cases: 40,
  async open() {
    const server = await openHttpServer();
    let used = 0;
    return {
      inputs: fc.record({
        key: plainValue.filter((text) => text.trim() !== ""),
        one: nastyText,
        other: nastyText,
      }),
      async check({ key, one, other }) {
        used += 1;
        const post = (name: string) =>
          server.send({
            ...{
              method: "POST",
              path: "/api/v1/commands",
              body: JSON.stringify({ text: `/help ${name}` }),
            },
            headers: [
              ...([
                ["host", `127.0.0.1:${server.port}`],
                ["authorization", `Bearer ${server.token}`],
              ] as const),
              ...([
                ["content-type", "application/json"],
                ["idempotency-key", `${used}${key.trim()}`],
              ] as const),
            ],
          });
        const first = await post(one);
        assert.ok(first.status < 500, first.text);
        const again = await post(one);
        assert.deepEqual([again.status, again.text], [first.status, first.text]);
        if (one === other || first.status >= 300) return;
        assert.equal((await post(other)).status, 409);
      },
      close: () => server.close(),
    };
  },
});
