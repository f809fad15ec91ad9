import type { AddressInfo } from "node:net";
import { createServer, type Server, type Socket } from "node:net";
import { brotliCompressSync, constants, gzipSync } from "node:zlib";
import { afterEach, beforeEach, expect, test } from "vitest";
import { ManualClock } from "../../testing/manual-clock.ts";
import { until } from "../../testing/until.ts";
import type { ToolResult } from "../tool.ts";
import { fetchPage, type Handler, serve, type WebServer } from "./web-server.test-support.ts";

let site: WebServer;
let handler: Handler;
let raw: Server | undefined;
let clock: ManualClock;

beforeEach(async () => {
  clock = new ManualClock();
  site = await serve((request, response) => handler(request, response));
});

afterEach(() => {
  site.close();
  raw?.close();
});

function get(limits: object = {}, port = site.port, signal?: AbortSignal): Promise<ToolResult> {
  const url = `http://127.0.0.1:${port}/`;
  const options = { allowPrivate: [`127.0.0.1:${port}`], limits, clock };
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
  const connected = Promise.withResolvers<void>();
  const port = await serveRaw(() => connected.resolve());
  const getting = get({ headersMs: 200 }, port);
  await connected.promise;
  await clock.advance(200);
  expect(await getting).toMatchObject({
    isError: true,
    text: expect.stringContaining("did not answer in time"),
  });
});

/** Says something again and again; the function tells how often it did. */
function repeat(say: () => void, stream: { on(event: "close", act: () => void): unknown }) {
  let times = 0;
  const timer = setInterval(() => {
    times += 1;
    say();
  }, 2);
  stream.on("close", () => clearInterval(timer));
  return () => times;
}

/** Half of the time passes, something more comes, and the other half passes. */
async function passWhileItComes(ms: number, times: () => number): Promise<void> {
  await until("something has come", () => times() > 5);
  await clock.advance(ms / 2);
  const before = times();
  await until("more has come", () => times() > before + 5);
  await clock.advance(ms / 2);
}

test("headers that come letter by letter do not buy time", async () => {
  let letters = () => 0;
  const port = await serveRaw((socket) => {
    socket.write("HTTP/1.1 200 OK\r\nx: ");
    letters = repeat(() => socket.write("a"), socket);
  });
  const getting = get({ headersMs: 300 }, port);
  await passWhileItComes(300, () => letters());
  expect((await getting).text).toContain("did not answer in time");
});

test("neither do endless notices that a reply is to come", async () => {
  let notices = () => 0;
  const port = await serveRaw((socket) => {
    notices = repeat(() => socket.write("HTTP/1.1 102 Processing\r\n\r\n"), socket);
  });
  const getting = get({ headersMs: 300 }, port);
  await passWhileItComes(300, () => notices());
  expect((await getting).text).toContain("did not answer in time");
});

test("a body that comes letter by letter ends with the time for all of it", async () => {
  let letters = () => 0;
  handler = (_request, response) => {
    response.writeHead(200, { "content-type": "text/plain" });
    letters = repeat(() => response.write("a"), response);
  };
  const getting = get({ totalMs: 400 });
  await passWhileItComes(400, () => letters());
  expect(await getting).toMatchObject({
    isError: true,
    text: expect.stringContaining("more than 0.4 s"),
  });
});

test("so do redirects that each take their time", async () => {
  handler = async (_request, response) => {
    await clock.advance(150);
    response.writeHead(302, { location: "/again" }).end();
  };
  expect((await get({ totalMs: 400 })).text).toContain("more than 0.4 s");
  expect(site.asked).toHaveLength(3);
});

test("and a name server that never answers", async () => {
  const asked = Promise.withResolvers<void>();
  const lookup = () => {
    asked.resolve();
    return new Promise<never>(() => undefined);
  };
  const limits = { totalMs: 200 };
  const getting = fetchPage({ url: "http://slow.example/" }, { lookup, limits, clock });
  await asked.promise;
  await clock.advance(200);
  expect((await getting).text).toContain("more than 0.2 s");
});

test("headers without end are refused", async () => {
  const port = await serveRaw((socket) => {
    socket.write(`HTTP/1.1 200 OK\r\n${`x: ${"a".repeat(1000)}\r\n`.repeat(100)}\r\n`);
  });
  expect((await get({}, port)).text).toContain("could not be fetched: its headers are too long");
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
  const connected = Promise.withResolvers<void>();
  const port = await serveRaw(() => connected.resolve());
  const controller = new AbortController();
  const getting = get({}, port, controller.signal);
  await connected.promise;
  controller.abort();
  await expect(getting).rejects.toThrow(/abort/);
});
