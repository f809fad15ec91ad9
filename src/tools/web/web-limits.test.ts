import type { AddressInfo } from "node:net";
import { createServer, type Server, type Socket } from "node:net";
import { brotliCompressSync, constants, gzipSync } from "node:zlib";
import { afterEach, beforeEach, expect, test } from "vitest";
import type { ToolResult } from "../tool.ts";
import { fetchPage, type Handler, serve, type WebServer } from "./web-server.test-support.ts";

let site: WebServer;
let handler: Handler;
let raw: Server | undefined;

beforeEach(async () => {
  site = await serve((request, response) => handler(request, response));
});

afterEach(() => {
  site.close();
  raw?.close();
});

function get(limits: object = {}, port = site.port, signal?: AbortSignal): Promise<ToolResult> {
  const url = `http://127.0.0.1:${port}/`;
  const options = { allowPrivate: [`127.0.0.1:${port}`], limits };
  return fetchPage({ url }, options, signal === undefined ? {} : { signal });
}

/** A server below HTTP. */
async function serveRaw(speak: (socket: Socket) => void): Promise<number> {
  const server = createServer((socket) => {
    socket.on("error", () => undefined);
    speak(socket);
  });
  raw = server;
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return (server.address() as AddressInfo).port;
}

const megabytes = 1024 * 1024;

test.each([
  ["gzip", gzipSync(Buffer.alloc(300 * megabytes, "a "), { level: 9 })],
  [
    "br",
    brotliCompressSync(Buffer.alloc(300 * megabytes, "a "), {
      params: { [constants.BROTLI_PARAM_QUALITY]: 5 },
    }),
  ],
])("a %s reply that unpacks to 300 MB is stopped at 5 MB", async (encoding, body) => {
  expect(body.length).toBeLessThan(megabytes);
  handler = (_request, response) => {
    response
      .writeHead(200, { "content-type": "text/plain", "content-encoding": encoding })
      .end(body);
  };
  const before = process.memoryUsage().rss;
  const { text } = await get();
  expect(text).toMatch(/text\/plain, 5242880 bytes, truncated there\]\n/);
  expect(process.memoryUsage().rss - before).toBeLessThan(100 * megabytes);
});

test("an endless packed reply that unpacks to nothing is stopped by what was sent", async () => {
  // Empty blocks: five bytes each, none of them the last.
  const nothing = Buffer.alloc(65_535, Buffer.from([0, 0, 0, 0xff, 0xff]));
  const head = gzipSync("").subarray(0, 10);
  handler = (_request, response) => {
    response.writeHead(200, { "content-type": "text/plain", "content-encoding": "gzip" });
    response.write(head);
    const more = () => !response.destroyed && response.write(nothing, () => setImmediate(more));
    more();
  };
  const result = await get({ maxBytes: megabytes });
  expect(result).toMatchObject({ isError: true, text: "The reply does not end." });
});

test("an endless plain reply is cut at the cap, and the connection closed", async () => {
  const closed = Promise.withResolvers<void>();
  handler = (_request, response) => {
    response.on("close", closed.resolve);
    response.writeHead(200, { "content-type": "text/plain" });
    const more = () => !response.destroyed && response.write("x".repeat(65_536), more);
    more();
  };
  const { text } = await get();
  expect(text).toContain("5242880 bytes, truncated there");
  await closed.promise;
});

test("a document that does not fit is not handed on in half", async () => {
  const pdf = Buffer.concat([Buffer.from("%PDF-1.4\n"), Buffer.alloc(6 * megabytes)]);
  handler = (_request, response) => response.writeHead(200).end(pdf);
  expect((await get()).text).toMatch(/\[The document is too large to be fetched whole/);
});

test("a server that accepts and says nothing is left in time", async () => {
  const port = await serveRaw(() => undefined);
  const began = performance.now();
  const result = await get({ headersMs: 200 }, port);
  expect(result).toMatchObject({
    isError: true,
    text: expect.stringContaining("did not answer in time"),
  });
  expect(performance.now() - began).toBeLessThan(2000);
});

test("headers that come letter by letter do not buy time", async () => {
  const port = await serveRaw((socket) => {
    socket.write("HTTP/1.1 200 OK\r\nx: ");
    const timer = setInterval(() => socket.write("a"), 20);
    socket.on("close", () => clearInterval(timer));
  });
  const result = await get({ headersMs: 300 }, port);
  expect(result.text).toContain("did not answer in time");
});

test("neither do endless notices that a reply is to come", async () => {
  const port = await serveRaw((socket) => {
    const timer = setInterval(() => socket.write("HTTP/1.1 102 Processing\r\n\r\n"), 20);
    socket.on("close", () => clearInterval(timer));
  });
  expect((await get({ headersMs: 300 }, port)).text).toContain("did not answer in time");
});

test("a body that comes letter by letter ends with the time for all of it", async () => {
  handler = (_request, response) => {
    response.writeHead(200, { "content-type": "text/plain" });
    const timer = setInterval(() => response.write("a"), 20);
    response.on("close", () => clearInterval(timer));
  };
  const began = performance.now();
  const result = await get({ totalMs: 400 });
  expect(result).toMatchObject({ isError: true, text: expect.stringContaining("more than 0.4 s") });
  expect(performance.now() - began).toBeLessThan(2000);
});

test("so do redirects that each take their time", async () => {
  handler = (_request, response) => {
    setTimeout(() => response.writeHead(302, { location: "/again" }).end(), 150);
  };
  expect((await get({ totalMs: 400 })).text).toContain("more than 0.4 s");
});

test("and a name server that never answers", async () => {
  const lookup = () => new Promise<never>(() => undefined);
  const result = await fetchPage(
    { url: "http://slow.example/" },
    { lookup, limits: { totalMs: 200 } },
  );
  expect(result.text).toContain("more than 0.2 s");
});

test("headers without end are refused", async () => {
  const port = await serveRaw((socket) => {
    socket.write(`HTTP/1.1 200 OK\r\n${`x: ${"a".repeat(1000)}\r\n`.repeat(100)}\r\n`);
  });
  expect((await get({}, port)).text).toContain("could not be fetched (HPE_HEADER_OVERFLOW)");
});

test("a reply that changes the protocol is refused", async () => {
  const port = await serveRaw((socket) => {
    socket.write("HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: x\r\n\r\n");
  });
  const result = await get({ headersMs: 500 }, port);
  expect(result).toMatchObject({
    isError: true,
    text: expect.stringContaining("another protocol"),
  });
});

test("a cancelled call ends at once, whatever the server does", async () => {
  const port = await serveRaw(() => undefined);
  const controller = new AbortController();
  const getting = get({}, port, controller.signal);
  setTimeout(() => controller.abort(), 50);
  const began = performance.now();
  await expect(getting).rejects.toThrow(/abort/);
  expect(performance.now() - began).toBeLessThan(1000);
});
