import { describe, expect, it } from "vitest";
import { PageSessions, pageSessionMs } from "./page-sessions.ts";
import { json, openServer, type TestServer } from "./server.test-support.ts";

function exchange(http: TestServer, code: string, headers: Readonly<Record<string, string>> = {}) {
  const origin = http.server.url;
  return http.send({
    method: "POST",
    path: "/api/v1/page-session",
    headers: { authorization: undefined, origin, ...json, ...headers },
    body: JSON.stringify({ code }),
  });
}

describe("a page", () => {
  it("gets in with its code, once, and acts as whoever opened it", async () => {
    await using http = await openServer();
    const viewer = `Bearer ${await http.tokenFor("viewer")}`;
    const opened = await http.send({
      method: "POST",
      path: "/api/v1/page-code",
      headers: { authorization: viewer },
    });
    const { code, url } = opened.json();
    expect([opened.status, url]).toEqual([201, `${http.server.url}/#code=${String(code)}`]);
    const begun = await exchange(http, String(code));
    expect(begun.status).toBe(204);
    const [cookie = ""] = begun.headers["set-cookie"] ?? [];
    expect(cookie).toMatch(
      /^mandate-page-\d+=[\w-]{43}; Max-Age=43200; Path=\/; HttpOnly; SameSite=Strict$/,
    );
    expect((await exchange(http, String(code))).status).toBe(401);

    const page = { authorization: undefined, cookie: cookie.split(";")[0] };
    const sameOrigin = { ...page, origin: http.server.url };
    const sameSite = { ...page, "sec-fetch-site": "same-origin" };
    for (const headers of [sameOrigin, sameSite]) {
      expect((await http.send({ path: "/api/v1/things", headers })).status).toBe(200);
    }
    const tooMuch = { method: "DELETE", path: "/api/v1/things/a", headers: sameOrigin };
    expect((await http.send(tooMuch)).status).toBe(403);
    await http.tokens.revoke("viewer", { id: "test", role: "admin" });
    expect((await http.send({ path: "/api/v1/things", headers: sameOrigin })).status).toBe(401);
  });

  it("opens no further page: its session ends when it ends", async () => {
    await using http = await openServer();
    const { pages, port, url } = http.server;
    const session = pages.exchange(pages.createCode(http.token).code);
    const cookie = `mandate-page-${port}=${session}`;
    const path = "/api/v1/page-code";
    const headers = { authorization: undefined, cookie, origin: url };
    expect((await http.send({ method: "POST", path, headers })).status).toBe(403);
    expect((await http.send({ method: "POST", path })).status).toBe(201);
  });

  it("leaves, and its cookie is worth nothing", async () => {
    await using http = await openServer();
    const { pages, port, url } = http.server;
    const session = pages.exchange(pages.createCode(http.token).code);
    const headers = {
      authorization: undefined,
      cookie: `mandate-page-${port}=${session}`,
      origin: url,
    };
    const path = "/api/v1/page-session";
    const left = await http.send({ method: "DELETE", path, headers });
    expect([left.status, left.headers["set-cookie"]?.[0]]).toEqual([
      204,
      expect.stringMatching(/=; Max-Age=0;/),
    ]);
    expect((await http.send({ path: "/api/v1/things", headers })).status).toBe(401);
  });

  it("of another site begins no session, and a code is not guessed", async () => {
    await using http = await openServer({ failureRate: { perSecond: 0.1, burst: 3 } });
    const { code } = http.server.pages.createCode(http.token);
    expect((await exchange(http, code, { origin: "http://evil.example" })).status).toBe(403);
    expect((await exchange(http, code, { origin: "null" })).status).toBe(403);
    expect((await exchange(http, code, { origin: "http://localhost:3000" })).status).toBe(403);
    expect((await exchange(http, code, { host: "evil.example" })).status).toBe(421);
    const bare = { authorization: undefined, ...json };
    const noOrigin = { method: "POST", path: "/api/v1/page-session", headers: bare };
    expect((await http.send({ ...noOrigin, body: JSON.stringify({ code }) })).status).toBe(403);
    expect((await exchange(http, code, { "content-type": "text/plain" })).status).toBe(415);
    expect((await exchange(http, "x".repeat(300))).status).toBe(400);
    const guesses: number[] = [];
    for (let n = 0; n < 5; n++) guesses.push((await exchange(http, `guess ${n}`)).status);
    expect(guesses).toEqual([401, 401, 401, 429, 429]);
  });

  it("reaches files without a token, and nothing else", async () => {
    await using http = await openServer({
      staticFiles: async (request) =>
        new URL(request.url).pathname === "/app.js"
          ? new Response("js", { headers: { "content-security-policy": "default-src 'self'" } })
          : undefined,
    });
    const headers = { authorization: undefined };
    const file = await http.send({ path: "/app.js", headers });
    expect([file.status, file.text]).toEqual([200, "js"]);
    expect(file.headers["content-security-policy"]).toBe("default-src 'self'");
    expect(file.headers["x-content-type-options"]).toBe("nosniff");
    expect((await http.send({ path: "/other.js", headers })).status).toBe(404);
    expect((await http.send({ path: "/app.js", headers: { host: "evil.example" } })).status).toBe(
      421,
    );
    for (const path of ["/api", "/api/v1", "/api/v1/things", "/mcp", "/mcp/x", "/metrics"]) {
      expect([path, (await http.send({ path, headers })).status]).toEqual([path, 401]);
    }
    expect((await http.send({ method: "POST", path: "/app.js", headers })).status).toBe(401);
  });
});

describe("PageSessions", () => {
  it("forgets codes after a minute and sessions after half a day", () => {
    let now = 0;
    const pages = new PageSessions(() => now);
    const late = pages.createCode("t").code;
    const code = pages.createCode("t").code;
    now = 59_999;
    const session = pages.exchange(code) ?? "";
    expect(pages.tokenOf(session)).toBe("t");
    now = 60_000;
    expect(pages.exchange(late)).toBeUndefined();
    now = 59_999 + pageSessionMs - 1;
    expect(pages.tokenOf(session)).toBe("t");
    now += 1;
    expect(pages.tokenOf(session)).toBeUndefined();
  });

  it("keeps a bounded number, and a code is no session", () => {
    const pages = new PageSessions(() => 0);
    const first = pages.createCode("t").code;
    expect(pages.tokenOf(first)).toBeUndefined();
    for (let n = 0; n < 1000; n++) pages.createCode("t");
    expect(pages.exchange(first)).toBeUndefined();
  });
});
