import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { HostAddress } from "../../workspaces/egress/web-address.ts";
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

beforeEach(async () => {
  handler = (_request, response) => {
    response.writeHead(200, { "content-type": "text/plain" }).end("secret of the inner network");
  };
  site = await serve((request, response) => handler(request, response));
});

afterEach(() => site.close());

const address = (text: string): HostAddress => ({
  address: text,
  family: text.includes(":") ? 6 : 4,
});

/** A name server that answers differently each time, the last answer for ever. */
function nameServer(...answers: readonly (readonly string[])[]) {
  let asked = 0;
  const lookup = async () => {
    const answer = answers[Math.min(asked++, answers.length - 1)] ?? [];
    return answer.map(address);
  };
  return { lookup, count: () => asked };
}

test.each([
  "127.0.0.1",
  "127.1",
  "0x7f000001",
  "2130706433",
  "0177.0.0.1",
  "127.0.0.1.",
  "[::1]",
  "[::ffff:127.0.0.1]",
  "169.254.169.254",
  "[fd00:ec2::254]",
  "0.0.0.0",
])("%s is denied before the call begins", (host) => {
  const tool = createWebFetch();
  const input = tool.input.parse({ url: `http://${host}:${site.port}/` });
  expect(() => tool.preflight?.(input, contextFor())).toThrow(
    expect.objectContaining({ rule: "address_not_public" }),
  );
  expect(site.asked).toEqual([]);
});

test("a name that leads inside is denied after it was looked up, and its address is not told", async () => {
  for (const answer of [
    ["127.0.0.1"],
    ["10.1.2.3"],
    ["::1"],
    ["::ffff:127.0.0.1"],
    ["93.184.215.14", "127.0.0.1"],
    ["2606:4700::1111", "fe80::1"],
    ["fe80::1%lo"],
    ["not an address"],
  ]) {
    const { lookup } = nameServer(answer);
    const url = `http://inner.example:${site.port}/`;
    const denied = fetchPage({ url }, { lookup });
    await expect(denied).rejects.toMatchObject({
      rule: "address_not_public",
      message: expect.not.stringContaining(answer.at(-1) ?? ""),
    });
  }
  expect(site.asked).toEqual([]);
});

test("localhost is looked up as the system does, and denied", async () => {
  const denied = fetchPage({ url: `http://localhost:${site.port}/` }, {});
  await expect(denied).rejects.toMatchObject({ rule: "address_not_public" });
  expect(site.asked).toEqual([]);
});

// Elsewhere loopback is one address, not a range of them.
describe.skipIf(process.platform !== "linux")("a name that changes its address", () => {
  const url = () => `http://rebinding.example:${site.port}/`;

  test("is asked for once, and connected to where the check looked", async () => {
    const other = await serve((_request, response) => response.end(), "127.0.0.2", site.port);
    try {
      const { lookup, count } = nameServer(["127.0.0.1"], ["127.0.0.2"]);
      const options = { lookup, allowPrivate: [`127.0.0.1:${site.port}`] };
      const { text } = await fetchPage({ url: url() }, options);
      expect(text).toContain("secret of the inner network");
      expect(count()).toBe(1);
      // The next request asks again, and what it hears is checked again.
      const denied = fetchPage({ url: url() }, options);
      await expect(denied).rejects.toMatchObject({ rule: "address_not_public" });
      expect(count()).toBe(2);
      expect(other.asked).toEqual([]);
    } finally {
      other.close();
    }
  });

  test("does not reach the second address when the first does not answer", async () => {
    const { lookup, count } = nameServer(["127.0.0.3"], ["127.0.0.1"]);
    const options = { lookup, allowPrivate: [`127.0.0.3:${site.port}`] };
    const result = await fetchPage({ url: url() }, options);
    expect(result).toMatchObject({
      isError: true,
      text: expect.stringContaining("nothing answers there"),
    });
    expect(count()).toBe(1);
    expect(site.asked).toEqual([]);
  });
});

describe("redirects", () => {
  const allowed = () => ({ allowPrivate: [`127.0.0.1:${site.port}`] });

  function redirect(to: (path: string) => string | undefined): void {
    handler = (request, response) => {
      const location = to(request.url ?? "");
      if (location === undefined)
        response.writeHead(200, { "content-type": "text/plain" }).end("end");
      else response.writeHead(302, { location }).end("<p>moved");
    };
  }

  test("are followed five times, and not a sixth", async () => {
    redirect((path) => (path === "/5" ? undefined : `/${Number(path.slice(1)) + 1}`));
    const { text } = await fetchPage({ url: `${site.origin}/0` }, allowed());
    expect(text).toContain(`untrusted content from ${site.origin}/5: 200`);
    redirect((path) => `/${Number(path.slice(1)) + 1}`);
    const endless = await fetchPage({ url: `${site.origin}/0` }, allowed());
    expect(endless).toMatchObject({
      isError: true,
      text: expect.stringContaining("more than 5 times"),
    });
    expect(site.asked).toHaveLength(12);
  });

  test.each([
    "http://169.254.169.254/latest/meta-data/",
    "http://[::ffff:169.254.169.254]/",
    "http://2852039166/",
    "http://127.0.0.1:8081/",
    "//0/",
  ])("to %s are denied", async (location) => {
    redirect(() => location);
    const denied = fetchPage({ url: `${site.origin}/` }, allowed());
    await expect(denied).rejects.toMatchObject({ rule: "address_not_public" });
    expect(site.asked).toHaveLength(1);
  });

  test("to a name are looked up and checked like the first", async () => {
    const inner = await serve((_request, response) => response.end("secret"));
    try {
      redirect(() => `http://inner.example:${inner.port}/`);
      const options = { ...allowed(), lookup: async () => [address("127.0.0.1")] };
      const denied = fetchPage({ url: `${site.origin}/` }, options);
      await expect(denied).rejects.toMatchObject({ rule: "address_not_public" });
      expect(inner.asked).toEqual([]);
    } finally {
      inner.close();
    }
  });

  test("to a host that is not granted are denied, to a granted one followed", async () => {
    const other = await serve((_request, response) => response.end("other"));
    try {
      redirect(() => `http://other.example:${other.port}/x`);
      const places = [`127.0.0.1:${site.port}`, `other.example:${other.port}`];
      const options = { allowPrivate: places, lookup: async () => [address("127.0.0.1")] };
      const ask = (network: readonly string[]) =>
        fetchPage({ url: `${site.origin}/` }, options, { network });
      await expect(ask(["127.0.0.1"])).rejects.toMatchObject({
        rule: "host_not_granted",
        message: expect.stringContaining("other.example"),
      });
      expect(other.asked).toEqual([]);
      expect((await ask(["127.0.0.1", "*.example"])).text).toContain("other");
    } finally {
      other.close();
    }
  });

  test("to an address that the contract's rules do not allow are denied", async () => {
    redirect((path) => (path === "/" ? "/admin/keys" : undefined));
    for (const action of ["deny", "ask"] as const) {
      const rules = [[{ tool: "web_fetch", match: "*/admin/*", action }]];
      const denied = fetchPage({ url: `${site.origin}/` }, allowed(), { rules });
      await expect(denied).rejects.toMatchObject({ rule: "tool_rule" });
    }
    expect(site.asked).toEqual(["/", "/"]);
  });
});

test("a host that the contract does not grant is denied before the call begins", () => {
  const tool = createWebFetch();
  const input = tool.input.parse({ url: "https://docs.example.com/" });
  for (const network of [[], ["example.com"], ["docs.example.com.evil.example"]]) {
    expect(() => tool.preflight?.(input, contextFor({ network }))).toThrow(
      expect.objectContaining({ rule: "host_not_granted" }),
    );
  }
  tool.preflight?.(input, contextFor({ network: ["*.example.com"] }));
  tool.preflight?.(input, contextFor({ network: "*" }));
});

test("an allowed private place is that host and port, and no other", async () => {
  const options = { allowPrivate: [`127.0.0.1:${site.port}`] };
  expect((await fetchPage({ url: site.origin }, options)).isError).toBeUndefined();
  for (const place of ["127.0.0.1:81", "127.0.0.2:8080", `localhost.example:${site.port}`]) {
    const url = `http://${place}/`;
    const lookup = async () => [address("10.0.0.1")];
    await expect(fetchPage({ url }, { ...options, lookup })).rejects.toThrow();
  }
  const unknown = fetchPage(
    { url: "http://missing.example/" },
    { ...options, lookup: async () => [] },
  );
  expect(await unknown).toMatchObject({
    isError: true,
    text: expect.stringContaining("no address"),
  });
});

test("a proxy of the environment does not come in between", async () => {
  const proxy = await serve((_request, response) => response.end("from the proxy"));
  const names = ["http_proxy", "HTTP_PROXY", "NODE_USE_ENV_PROXY"];
  const before = names.map((name) => process.env[name]);
  try {
    process.env["http_proxy"] = process.env["HTTP_PROXY"] = proxy.origin;
    process.env["NODE_USE_ENV_PROXY"] = "1";
    const options = { allowPrivate: [`127.0.0.1:${site.port}`] };
    expect((await fetchPage({ url: site.origin }, options)).text).toContain("inner network");
    expect(proxy.asked).toEqual([]);
  } finally {
    for (const [index, name] of names.entries()) {
      const value = before[index];
      if (value === undefined) delete process.env[name];
      else process.env[name] = value;
    }
    proxy.close();
  }
});
