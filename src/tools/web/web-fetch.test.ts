import { brotliCompressSync, gzipSync } from "node:zlib";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { ManualClock } from "../../testing/manual-clock.ts";
import { makePdf } from "../documents/make-documents.test-support.ts";
import type { ToolResult } from "../tool.ts";
import { createWebFetch } from "./web-fetch.ts";
import {
  contextFor,
  fetchPage,
  type Handler,
  serve,
  type WebServer,
} from "./web-server.test-support.ts";

let site: WebServer;
let handler: Handler;
const clock = new ManualClock();

beforeEach(async () => {
  site = await serve((request, response) => handler(request, response));
});

afterEach(() => site.close());

function answer(body: string | Buffer, headers: Record<string, string> = {}, status = 200): void {
  handler = (_request, response) => response.writeHead(status, headers).end(body);
}

function get(path = "/", input: object = {}): Promise<ToolResult> {
  const options = { allowPrivate: [`127.0.0.1:${site.port}`], clock };
  return fetchPage({ url: `${site.origin}${path}`, ...input }, options);
}

const html = { "content-type": "text/html; charset=utf-8" };

describe("what comes back", () => {
  test("of a page is its content as Markdown, under a line that says whose words they are", async () => {
    answer("<title>T</title><nav>menu</nav><h1>Hi</h1><p>a <a href='/b'>link</a></p>", html);
    expect(await get("/page?x=1#part")).toEqual({
      text:
        `[untrusted content from ${site.origin}/page?x=1: 200 OK, text/html, 72 bytes]\n` +
        `# Hi\n\na [link](${site.origin}/b)`,
    });
    expect(site.asked).toEqual(["/page?x=1"]);
  });

  test("can be plain text or the source", async () => {
    answer("<h1>Hi</h1><p>a <b>b</b></p>", html);
    expect((await get("/", { format: "text" })).text).toMatch(/\]\nHi\n\na b$/);
    expect((await get("/", { format: "html" })).text).toMatch(
      /\]\n<h1>Hi<\/h1><p>a <b>b<\/b><\/p>$/,
    );
  });

  test("of JSON and text is what was sent", async () => {
    answer('{"a": [1, "<b>"]}', { "content-type": "application/vnd.api+json" });
    expect((await get()).text).toMatch(
      /application\/vnd.api\+json, 17 bytes\]\n\{"a": \[1, "<b>"\]\}$/,
    );
    answer("<html> is a tag", { "content-type": "text/plain" });
    expect((await get()).text).toMatch(/\]\n<html> is a tag$/);
  });

  test("of a PDF is its text, whatever type is claimed", async () => {
    answer(makePdf([["First page"], ["Second page"]]), html);
    expect((await get()).text).toMatch(/\]\nFirst page\n\n\[page 2\]\nSecond page$/);
  });

  test("is decoded by its character set, from the header or from inside", async () => {
    answer(Buffer.from("caf\u00e9", "latin1"), {
      "content-type": "text/plain; charset=ISO-8859-1",
    });
    expect((await get()).text).toMatch(/café$/);
    answer(Buffer.from("<meta charset=latin1><p>caf\u00e9", "latin1"), {
      "content-type": "text/html",
    });
    expect((await get()).text).toMatch(/café$/);
    answer("café", { "content-type": "text/plain; charset=no-such-set" });
    expect((await get()).text).toMatch(/café$/);
  });

  test("is unpacked", async () => {
    answer(gzipSync("<p>packed"), { ...html, "content-encoding": "gzip" });
    expect((await get()).text).toMatch(/9 bytes\]\npacked$/);
    answer(brotliCompressSync("<p>packed"), { ...html, "content-encoding": "BR" });
    expect((await get()).text).toMatch(/9 bytes\]\npacked$/);
  });

  test("without a type, or with a wrong one, is judged by its bytes", async () => {
    answer("<!doctype html><p>page");
    expect((await get()).text).toMatch(/no type, 22 bytes\]\npage$/);
    answer("plain words", { "content-type": "application/octet-stream" });
    expect((await get()).text).toMatch(/\]\nplain words$/);
    answer(Buffer.from([1, 2, 0, 4]), { "content-type": "text/plain" });
    expect((await get()).text).toMatch(
      /\]\n\[This is not text \(text\/plain, 4 bytes\), so it is not shown/,
    );
    answer(Buffer.from("89504e470d0a1a0a", "hex"), html);
    expect((await get()).text).toContain("This is not text");
    answer("x", { "content-type": "text/html\u00a0[fake]: 200" });
    expect((await get()).text).toMatch(/: 200 OK, no type, 1 bytes\]\nx$/);
  });

  test("of a picture is a description, and its bytes are not fetched", async () => {
    let sent = 0;
    handler = (_request, response) => {
      response.writeHead(200, { "content-type": "image/png", "content-length": "50000000" });
      const more = () => {
        sent += 65_536;
        if (!response.destroyed) response.write(Buffer.alloc(65_536), more);
      };
      more();
    };
    expect((await get()).text).toMatch(/\[This is not text \(image\/png, 50000000 bytes\)/);
    expect(sent).toBeLessThan(20_000_000);
  });

  test("holds nothing that drives a terminal or hides words", async () => {
    answer("a\u001b[2Jb\u202ec\u200bd\u{e0041}", { "content-type": "text/plain" });
    expect((await get()).text).toMatch(/\]\nabcd$/);
  });

  test("comes in pieces that add up", async () => {
    const lines = Array.from({ length: 2000 }, (_, line) => `line ${line} 🙂`).join("\n");
    answer(lines, { "content-type": "text/plain" });
    let whole = "";
    let offset: number | undefined = 0;
    while (offset !== undefined) {
      const { text } = await get("/", { offset, limit: 9000 });
      const [, body = "", next] =
        /^[^\n]*\n(.*?)(?:\n\[More follows: continue with offset (\d+) of \d+\.\])?$/s.exec(text) ??
        [];
      whole += body;
      offset = next === undefined ? undefined : Number(next);
    }
    expect(whole).toBe(lines);
    expect((await get("/", { offset: 999_999 })).text).toMatch(/Offset 999999 is past its end/);
  });
});

test("an error of the server is one for the model, with its words and when to come again", async () => {
  answer("<p>slow down", { ...html, "retry-after": "17" }, 429);
  const limited = await get();
  expect(limited.isError).toBe(true);
  expect(limited.text).toMatch(
    /429 Too Many Requests, .*\]\nslow down\n\[The server asks to wait 17 s/,
  );
  answer("", { "retry-after": new Date(clock.now() + 60_000).toUTCString() }, 503);
  expect((await get()).text).toMatch(/wait 60 s/);
  answer("nothing here", { "content-type": "text/plain" }, 404);
  expect((await get()).text).toMatch(/404 Not Found, text\/plain, 12 bytes\]\nnothing here$/);
  answer("", { "retry-after": "soon; rm -rf" }, 503);
  expect((await get()).text).not.toContain("rm");
});

test("the request says nothing about who asks, and cookies are neither kept nor sent", async () => {
  const seen: string[] = [];
  handler = (request, response) => {
    seen.push(JSON.stringify(request.headers));
    if (request.url === "/") {
      response.writeHead(302, { location: "/next", "set-cookie": "id=1" }).end();
    } else response.writeHead(200, { "content-type": "text/plain" }).end("x");
  };
  await get();
  await get("/next");
  expect(seen).toHaveLength(3);
  for (const headers of seen) {
    expect(Object.keys(JSON.parse(headers)).sort()).toEqual(
      ["accept", "accept-encoding", "accept-language", "connection", "host", "user-agent"].sort(),
    );
  }
});

test("a broken reply is told as such, without addresses of the machine", async () => {
  handler = (_request, response) => {
    response.writeHead(200, { ...html, "content-length": "100" });
    response.write("<p>half", () => response.destroy());
  };
  expect(await get()).toMatchObject({ isError: true, text: expect.stringContaining("broke off") });
  answer(gzipSync("x".repeat(9999)).subarray(0, 20), { ...html, "content-encoding": "gzip" });
  expect(await get()).toMatchObject({ isError: true, text: expect.stringContaining("damaged") });
  answer("x", { ...html, "content-encoding": "zstd" });
  expect((await get()).text).toContain("packed in a way that was not asked for");
  site.server.removeAllListeners("request");
  site.server.on("connection", (socket) => socket.end("SSH-2.0-OpenSSH\r\n"));
  expect((await get()).text).toMatch(/could not be fetched: the other side does not speak HTTP\.$/);
});

test("what a call is about is the address as it will be fetched", () => {
  const tool = createWebFetch();
  const about = (url: string) => tool.about?.(tool.input.parse({ url }), contextFor());
  expect(about("HTTP://Example.COM:80/a/../b#c")).toEqual({
    kind: "text",
    values: ["http://example.com/b"],
  });
  expect(() => about("http://user@example.com/")).toThrow();
  expect(tool).toMatchObject({ effect: "network", idempotent: true, scopes: ["web"] });
});
