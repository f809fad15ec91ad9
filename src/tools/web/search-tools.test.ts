import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { ToolContext, ToolResult } from "../tool.ts";
import { createSearchTools } from "./search-tools.ts";
import { contextFor, type Handler, serve, type WebServer } from "./web-server.test-support.ts";

let service: WebServer;
let handler: Handler;
const bodies: string[] = [];

beforeEach(async () => {
  bodies.length = 0;
  service = await serve((request, response) => {
    let body = "";
    request.on("data", (chunk) => {
      body += chunk;
    });
    request.on("end", () => {
      bodies.push(body);
      handler(request, response);
    });
  });
});

afterEach(() => service.close());

const key = "key-4711/secret+value";

type Environment = Readonly<Record<string, string>>;

async function search(
  environment: Environment,
  input: object = { query: "a b&c" },
  change: Partial<ToolContext> = {},
): Promise<ToolResult> {
  const options = { braveUrl: service.origin, tavilyUrl: service.origin };
  const [tool] = createSearchTools(environment, options);
  if (tool === undefined) throw new Error("no tool is offered");
  const context = contextFor(change);
  const parsed = tool.input.parse(input);
  tool.preflight?.(parsed, context);
  return (await tool.execute(parsed, context)) as ToolResult;
}

function answer(body: unknown, status = 200, headers: Record<string, string> = {}): void {
  const text = typeof body === "string" ? body : JSON.stringify(body);
  handler = (_request, response) => response.writeHead(status, headers).end(text);
}

const found = { title: "One", url: "https://example.com/one", content: "first" };

test("without a service there are no tools", () => {
  expect(createSearchTools({})).toEqual([]);
  expect(createSearchTools({ SEARXNG_URL: " ", BRAVE_API_KEY: "" })).toEqual([]);
});

test("with one there are both names, for the same work", () => {
  const tools = createSearchTools({ BRAVE_API_KEY: key });
  expect(tools.map(({ name }) => name)).toEqual(["web_search", "search"]);
  for (const tool of tools) {
    expect(tool).toMatchObject({ effect: "network", idempotent: true, scopes: ["web"] });
    expect(tool.about?.(tool.input.parse({ query: " x " }), contextFor())).toEqual({
      kind: "text",
      values: ["x"],
    });
  }
});

test("a mistake in the address of one's own service does not send queries to another", () => {
  const environment = { SEARXNG_URL: "localhost:8080", BRAVE_API_KEY: key };
  expect(() => createSearchTools(environment)).toThrow(
    expect.objectContaining({ code: "config-invalid" }),
  );
});

describe("SearXNG", () => {
  test("is asked for JSON below its own path, with the credentials of its address", async () => {
    let authorization: string | undefined;
    answer({ results: [found, { ...found, url: "https://example.com/2", content: null }] });
    const speak = handler;
    handler = (request, response) => {
      authorization = request.headers.authorization;
      speak(request, response);
    };
    const address = `http://me:pass%20word@127.0.0.1:${service.port}/sub/`;
    const { text } = await search({ SEARXNG_URL: address, BRAVE_API_KEY: key });
    expect(service.asked).toEqual(["/sub/search?q=a+b%26c&format=json"]);
    expect(authorization).toBe(`Basic ${Buffer.from("me:pass word").toString("base64")}`);
    expect(text).toBe(
      '[untrusted content from SearXNG, for "a b&c"]\n1. One\n   https://example.com/one\n   first\n' +
        "2. One\n   https://example.com/2",
    );
  });
});

describe("Brave", () => {
  test("is asked with its key in a header, and its marks are taken out", async () => {
    let token: unknown;
    handler = (request, response) => {
      token = request.headers["x-subscription-token"];
      const result = {
        title: "<strong>One</strong> &amp; two",
        url: "https://example.com/",
        description: "it&#39;s <strong>a</strong> &lt;tag&gt;",
      };
      response.end(JSON.stringify({ web: { results: [result] } }));
    };
    const { text } = await search({ BRAVE_API_KEY: key }, { query: "x", count: 3 });
    expect(service.asked).toEqual(["/res/v1/web/search?q=x&count=3"]);
    expect(token).toBe(key);
    expect(text).toContain("1. One & two\n   https://example.com/\n   it's a <tag>");
  });

  test("may find nothing", async () => {
    answer({ type: "search" });
    expect((await search({ BRAVE_API_KEY: key })).text).toMatch(
      /^\[Brave found nothing for "a b&c"/,
    );
  });
});

describe("Tavily", () => {
  test("is asked by POST with its key as a bearer", async () => {
    let seen: unknown;
    handler = (request, response) => {
      seen = [request.method, request.headers.authorization, request.headers["content-type"]];
      response.end(JSON.stringify({ results: [{ ...found, score: 0.9 }] }));
    };
    const { text } = await search({ TAVILY_API_KEY: key }, { query: "x", count: 2 });
    expect(seen).toEqual(["POST", `Bearer ${key}`, "application/json"]);
    expect(JSON.parse(bodies[0] ?? "")).toEqual({
      query: "x",
      max_results: 2,
      search_depth: "basic",
    });
    expect(text).toContain("1. One\n   https://example.com/one\n   first");
  });
});

describe("results", () => {
  const environment = () => ({ SEARXNG_URL: service.origin });

  test("are as many as asked for, one line each, without what drives terminals or hides words", async () => {
    const bad = {
      title: "T\n2. Fake\u001b[31m\u202e",
      url: "https://e.org/",
      content: "x\n\ny\u0000",
    };
    answer({ results: [bad, found, found] });
    const { text } = await search(environment(), { query: "x", count: 2 });
    expect(text.split("\n").slice(1)).toEqual([
      ...["1. T 2. Fake", "   https://e.org/", "   x y"],
      ...["2. One", "   https://example.com/one", "   first"],
    ]);
  });

  test("that lead to no web page are left out, and long ones are cut", async () => {
    const urls = ["javascript:alert(1)", "file:///etc/passwd", "nothing", "https://u:p@e.org/"];
    answer({
      results: urls.map((url) => ({ title: "t".repeat(999), url, content: "é".repeat(9999) })),
    });
    const { text } = await search(environment());
    expect(text).not.toMatch(/javascript|file:|u:p@/);
    expect(text).toContain("https://e.org/");
    expect(text.length).toBeLessThan(1000);
  });
});

describe("failures", () => {
  const environment = { BRAVE_API_KEY: key };

  test.each([
    ["an error that repeats the key", () => answer(`bad key ${key}`, 401), /answered 401\.$/],
    ["a limit", () => answer("", 429, { "retry-after": "9" }), /429\. The server asks to wait 9 s/],
    ["no JSON", () => answer("<html>"), /not JSON/],
    ["another form", () => answer({ web: { results: "x" } }), /a form that is not its own/],
    ["too much", () => answer("x".repeat(3 * 1024 * 1024)), /too large/],
  ])("are told without the key: %s", async (_what, prepare, expected) => {
    prepare();
    const result = await search(environment);
    expect(result.isError).toBe(true);
    expect(result.text).toMatch(expected);
    expect(result.text).not.toContain("secret");
  });

  test("a redirect is not followed, so that the key goes nowhere else", async () => {
    const other = await serve((_request, response) => response.end('{"web": null}'));
    try {
      answer("", 302, { location: `${other.origin}/` });
      const result = await search(environment);
      expect(result).toMatchObject({ isError: true });
      expect(other.asked).toEqual([]);
    } finally {
      other.close();
    }
  });

  test("of a service that is not there are told without the key", async () => {
    service.close();
    const result = await search({ TAVILY_API_KEY: key });
    expect(result).toMatchObject({
      isError: true,
      text: expect.stringContaining("nothing answers there"),
    });
  });

  test("a key that comes back in results is hidden", async () => {
    const url = `https://e.org/?k=${encodeURIComponent(key)}`;
    answer({ web: { results: [{ title: key, url, description: `Bearer ${key}` }] } });
    expect((await search(environment)).text).not.toMatch(/secret/);
  });
});

test("the service's host has to be granted like any other", async () => {
  answer({ results: [] });
  const network = ["example.com"];
  await expect(
    search({ SEARXNG_URL: service.origin }, undefined, { network }),
  ).rejects.toMatchObject({ rule: "host_not_granted" });
  expect(service.asked).toEqual([]);
  await search({ SEARXNG_URL: service.origin }, undefined, { network: ["127.0.0.1"] });
  expect(service.asked).toHaveLength(1);
});

test("a cancelled search ends at once", async () => {
  const controller = new AbortController();
  handler = () => controller.abort();
  const searching = search({ BRAVE_API_KEY: key }, undefined, { signal: controller.signal });
  await expect(searching).rejects.toThrow(/abort/);
});
