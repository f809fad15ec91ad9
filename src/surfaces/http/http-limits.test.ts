import { gzipSync } from "node:zlib";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { cases } from "../../testing/cases.test-support.ts";
import { until } from "../../testing/until.ts";
import { checkTarget } from "./check-target.ts";
import { json, openServer, readAll, sendLarge, type TestServer } from "./server.test-support.ts";

/** Sends bytes over a connection of their own and gives all that comes back until it ends. */
async function exchange(http: TestServer, bytes: string): Promise<string> {
  const socket = http.socket();
  socket.write(bytes, "latin1");
  return readAll(socket);
}

function head(http: TestServer, first: string, ...lines: readonly string[]): string {
  const usual = [`Host: 127.0.0.1:${http.server.port}`, `Authorization: Bearer ${http.token}`];
  return [first, ...usual, ...lines, "", ""].join("\r\n");
}

const statusLines = (text: string): number => text.match(/^HTTP\/1\.1 /gm)?.length ?? 0;

/** Somebody else is served meanwhile. */
async function serveOther(http: TestServer): Promise<void> {
  expect((await http.send({ path: "/api/v1/things" })).status).toBe(200);
}

/** Serves another client, again and again: under short limits a busy machine delays it, too. */
async function serveOtherSoon(http: TestServer): Promise<void> {
  const headers = { connection: "close" };
  await until("somebody else is served", async () => {
    const reply = await http.send({ path: "/api/v1/things", headers }).catch(() => undefined);
    return reply?.status === 200;
  });
}

describe("what is no request that can be read in one way", () => {
  const second = "GET /api/v1/things/smuggled HTTP/1.1\r\nHost: localhost\r\n\r\n";
  const post = "POST /api/v1/things HTTP/1.1";
  const type = "Content-Type: application/json";
  const broken: readonly (readonly [string, readonly string[], string])[] = [
    [post, [type, "Content-Length: 4", "Transfer-Encoding: chunked"], `0\r\n\r\n${second}`],
    [post, [type, "Transfer-Encoding: chunked", "Content-Length: 4"], `0\r\n\r\n${second}`],
    [post, [type, "Content-Length: 2", "Content-Length: 40"], `{}${second}`],
    [post, [type, "Content-Length: 2, 2"], `{}${second}`],
    [post, [type, "Content-Length: +2"], `{}${second}`],
    [post, [type, "Content-Length: 0x2"], `{}${second}`],
    [post, [type, "Content-Length: -1"], second],
    [post, [type, "Content-Length : 2"], `{}${second}`],
    [post, [type, "Content-Length: 99999999999999999999"], second],
    [post, [type, "Transfer-Encoding: xchunked"], `0\r\n\r\n${second}`],
    [post, [type, "Transfer-Encoding: chunked, identity"], `0\r\n\r\n${second}`],
    [post, [type, "Transfer-Encoding: identity"], `{}${second}`],
    [post, [type, "Transfer-Encoding : chunked"], `0\r\n\r\n${second}`],
    [post, [type, "Transfer-Encoding:\x0bchunked"], `0\r\n\r\n${second}`],
    [post, [type, "Transfer-Encoding: chunked"], `zz\r\n${second}`],
    [post, [type, "Transfer-Encoding: chunked"], `-1\r\n${second}`],
    [post, [type, "Transfer-Encoding: chunked"], `ffffffffffffffffff\r\n${second}`],
    [post, [type, " folded: value", "Content-Length: 2"], `{}${second}`],
    ["GET /api/v1/things HTTP/1.1", ["X: a\x00b"], second],
    ["GET /api/v1/things HTTP/1.1\nX: y", [], second],
    ["GET /api/v1/things", [], second],
    ["GET /api/v1/things HTTP/2.0", [], second],
    ["GET /api/v1/th ings HTTP/1.1", [], second],
    ["get /api/v1/things HTTP/1.1", [], second],
    ["\x16\x03\x01\x02\x00\x01\x00\x01", [], second],
  ];

  it("is refused, and nothing is taken for a second one behind it", async () => {
    await using http = await openServer();
    for (const [first, lines, rest] of broken) {
      const text = await exchange(http, head(http, first, ...lines) + rest);
      expect([first, lines, text.slice(0, 12)]).toEqual([first, lines, "HTTP/1.1 400"]);
      expect([statusLines(text), text.includes("smuggled")]).toEqual([1, false]);
      expect(text).toContain("application/problem+json");
    }
    await serveOther(http);
  });

  it("leaves a connection with two good requests as it is", async () => {
    await using http = await openServer();
    const one = head(http, "GET /api/v1/things/a HTTP/1.1");
    const two = head(http, "GET /api/v1/things/b HTTP/1.1", "Connection: close");
    const text = await exchange(http, one + two);
    expect(text.match(/\{"id":"."\}/g)).toEqual(['{"id":"a"}', '{"id":"b"}']);
  });

  it("includes other protocols, proxies and methods nobody knows", async () => {
    await using http = await openServer();
    for (const [first, lines, status] of [
      ["CONNECT evil.example:443 HTTP/1.1", [], 405],
      ["GET http://evil.example/api/v1/things HTTP/1.1", ["Connection: close"], 400],
      ["GET * HTTP/1.1", ["Connection: close"], 400],
      ["OPTIONS * HTTP/1.1", ["Connection: close"], 400],
      ["PRI * HTTP/2.0", [], 400],
      ["BREW /api/v1/things HTTP/1.1", [], 400],
      ["GET /api/v1/things HTTP/1.1", ["Expect: 200-maybe", "Connection: close"], 417],
      ["GET /api/v1/things HTTP/1.1", ["Connection: Upgrade, close", "Upgrade: h2c"], 200],
    ] as const) {
      const text = await exchange(http, head(http, first, ...lines));
      expect([first, text.slice(9, 12)]).toEqual([first, String(status)]);
    }
    const noHost = "GET /api/v1/things HTTP/1.0\r\n\r\n";
    expect((await exchange(http, noHost)).slice(9, 12)).toBe("400");
    const bare = "GET /api/v1/things HTTP/1.1\r\nConnection: close\r\n\r\n";
    expect((await exchange(http, bare)).slice(9, 12)).toBe("400");
  });
});

describe("a path that is spelled in another way", () => {
  it("is refused, and never leads to another route", async () => {
    await using http = await openServer();
    for (const path of [
      "/api/v1/%74hings",
      "/api/v1/things/%2e%2e/things",
      "/api/v1/things/../things",
      "/api/v1/things/./a",
      "/api/v1/things/a/%2E",
      "/api/v1//things",
      "//api/v1/things",
      "/api/v1/things/a%2fb",
      "/api/v1/things/a%5cb",
      "/api/v1/things/a\\b",
      "/api/v1/things/a%00",
      "/api/v1/things/a%0d%0aX:1",
      "/api/v1/things/%c0%ae%c0%ae",
      "/api/v1/things/%e0%80%af",
      "/api/v1/things/%ff",
      "/api/v1/things/%",
      "/api/v1/things/%u002e",
      "/api/v1/things#a",
      "/api/v1/things/a?b=%ff",
    ]) {
      const { status } = await http.send({ path });
      expect([path, status]).toEqual([path, 400]);
    }
    for (const path of ["/api/v1/things/a;b=c", "/api/v1/things/%25%32%65"]) {
      expect([path, (await http.send({ path })).status]).not.toEqual([path, 404]);
    }
    for (const path of [
      "/API/v1/things",
      "/api/v1/things/a/b",
      "/api/v2/things",
      "/api/v1/things%20",
    ]) {
      expect([path, (await http.send({ path })).status]).toEqual([path, 404]);
    }
  });

  it("means, where it is accepted, the same to every reader", () => {
    const pieces = fc.constantFrom(
      "a",
      "..",
      ".",
      "/",
      "%2e",
      "%2f",
      "%40",
      "%25",
      "\\",
      "%c3%a9",
      "@",
    );
    fc.assert(
      fc.property(fc.array(pieces, { maxLength: 8 }), (parts) => {
        const target = `/${parts.join("")}`;
        try {
          checkTarget(target);
        } catch {
          return true;
        }
        // A URL parser leaves it as it is, and decoding it makes no segment more, or another.
        const { pathname } = new URL(`http://h${target}`);
        const decoded = target.split("/").map(decodeURIComponent);
        return (
          pathname === target &&
          decoded.every((segment) => !/[/\\]/.test(segment) && segment !== ".." && segment !== ".")
        );
      }),
      { numRuns: cases(2000) },
    );
  });
});

describe("a request that is too large", () => {
  it("of fifty megabytes is refused at once, while others are served", async () => {
    await using http = await openServer();
    const body = Buffer.alloc(50 * 1024 * 1024, "a");
    for (const headers of [
      json,
      { ...json, "content-length": undefined, "transfer-encoding": "chunked" },
    ]) {
      const [large] = await Promise.all([
        sendLarge(http, { method: "POST", path: "/api/v1/things", headers, body }),
        serveOther(http),
      ]);
      expect([large.status, large.json()["code"]]).toEqual([413, "body-too-large"]);
    }
  });

  it("by a byte is refused, and one that is not is taken", async () => {
    await using http = await openServer({ mostBodyBytes: 1000 });
    const post = (bytes: number, headers: object = {}) =>
      http.send({
        method: "POST",
        path: "/api/v1/things",
        headers: { ...json, ...headers },
        body: JSON.stringify({ name: "x".repeat(bytes - 11) }),
      });
    const chunked = { "content-length": undefined, "transfer-encoding": "chunked" };
    expect((await post(1000)).status).toBe(201);
    expect((await post(1000, chunked)).status).toBe(201);
    expect((await post(1001)).status).toBe(413);
    expect((await post(1001, chunked)).status).toBe(413);
  });

  it("when it is unpacked is not unpacked", async () => {
    await using http = await openServer();
    const body = gzipSync(Buffer.alloc(100 * 1024 * 1024));
    const headers = { ...json, "content-encoding": "gzip" };
    const bomb = await sendLarge(http, { method: "POST", path: "/api/v1/things", headers, body });
    expect(bomb.status).toBe(415);
  });

  it("in its headers or its address is refused", async () => {
    await using http = await openServer();
    const long = await http.send({ path: `/api/v1/things?limit=${"x".repeat(3000)}` });
    expect(long.status).toBe(414);
    const text = await exchange(
      http,
      head(http, "GET /api/v1/things HTTP/1.1", `X: ${"x".repeat(17 * 1024)}`),
    );
    expect(text.slice(9, 12)).toBe("431");
    // Many small ones hide none of the others.
    const many = Array.from({ length: 2500 }, () => "a:");
    const hidden = head(
      http,
      "GET /api/v1/things HTTP/1.1",
      ...many,
      "Origin: http://evil.example",
      "Connection: close",
    );
    expect((await exchange(http, hidden)).slice(9, 12)).toBe("403");
  });
});

describe("a client that takes its time", () => {
  const timeouts = { headersMs: 300, requestMs: 500, keepAliveMs: 300, checkMs: 50 };

  it("is cut off, whatever it trickles, and nobody waits for it", async () => {
    await using http = await openServer({ timeouts });
    const request = head(
      http,
      "POST /api/v1/things HTTP/1.1",
      "Content-Type: application/json",
      "Content-Length: 1000",
    );
    const starts = ["", "GET / HTTP/1.1\r\n", head(http, "GET / HTTP/1.1").slice(0, -4), request];
    const clients = Array.from({ length: 40 }, (_, index) => {
      const socket = http.socket();
      socket.write(starts[index % starts.length] ?? "");
      const drip = setInterval(() => void socket.write(index % 4 === 3 ? " " : "X: y\r\n"), 50);
      if (index % 4 === 0) clearInterval(drip);
      return readAll(socket).then((text) => {
        clearInterval(drip);
        return text;
      });
    });
    for (let round = 0; round < 10; round++) await serveOtherSoon(http);
    const cut = await Promise.all(clients);
    for (const text of cut) if (text !== "") expect(text.slice(9, 12)).toBe("408");
  });

  it("and does not even say who it is hears so before it has sent its body", async () => {
    await using http = await openServer({ timeouts: { ...timeouts, requestMs: 60_000 } });
    const socket = http.socket();
    socket.write(
      `POST /api/v1/things HTTP/1.1\r\nHost: 127.0.0.1:${http.server.port}\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n`,
    );
    const text = await readAll(socket);
    expect(text.slice(9, 12)).toBe("401");
  });

  it("cannot have all connections for long", async () => {
    await using http = await openServer({ timeouts, mostConnections: 20 });
    const idle = Array.from({ length: 60 }, () => readAll(http.socket()));
    await Promise.all(idle);
    await serveOtherSoon(http);
  });
});
