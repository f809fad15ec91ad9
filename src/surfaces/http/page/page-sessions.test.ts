import { randomBytes } from "node:crypto";
import { describe, expect, it } from "vitest";
import { openStore } from "../../../open-store.ts";
import { beginPage, json, openServer, type TestServer } from "../server.test-support.ts";
import { readPageKey, storedPageKey } from "./page-key.ts";
import { PageSeal } from "./page-seal.ts";
import { PageSessions, pageSessionMs } from "./page-sessions.ts";

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
  it("opens with its code until the server ends, and acts as its creator", async () => {
    await using http = await openServer();
    const viewer = `Bearer ${await http.tokenFor("viewer")}`;
    const opened = await http.send({
      method: "POST",
      path: "/api/v1/page-code",
      headers: { authorization: viewer },
    });
    const { code, url, validForMs } = opened.json();
    expect([opened.status, url, validForMs]).toEqual([
      201,
      `${http.server.url}/#code=${String(code)}`,
      null,
    ]);
    expect(String(url).length).toBeLessThan(60);
    const begun = await exchange(http, String(code));
    expect([begun.status, begun.json()]).toEqual([200, { path: "/" }]);
    const [cookie = ""] = begun.headers["set-cookie"] ?? [];
    expect(cookie).toMatch(
      /^mandate-page-\d+=[\w-]{60,300}; Max-Age=43200; Path=\/; HttpOnly; SameSite=Strict$/,
    );
    expect((await exchange(http, String(code))).status).toBe(200);

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

  it("through a proxy opens once, and says why it does not open again", async () => {
    await using http = await openServer({ linkHint: () => "npm run link" });
    const { pages } = http.server;
    const forwarded = { "x-forwarded-for": "192.0.2.1" };
    const { code } = pages.createCode(http.token, "/runs/r1");
    expect((await exchange(http, code, forwarded)).json()).toEqual({ path: "/runs/r1" });
    for (const [sent, reason] of [
      [code, "This link was already used."],
      [code.slice(0, 20), "This link is not complete."],
      [`${code.slice(0, 3)}${"A".repeat(22)}`, "This link is not valid."],
      [
        `${code.startsWith("AAA") ? "BBB" : "AAA"}${code.slice(3)}`,
        "This link belongs to another server, or to one that was stopped.",
      ],
    ] as const) {
      const refused = await exchange(http, sent, forwarded);
      expect([refused.status, refused.json()["detail"]]).toEqual([401, reason]);
    }
    const ask = async (headers: Readonly<Record<string, string>>) => {
      const place = { authorization: undefined, origin: http.server.url, ...headers };
      return (await http.send({ path: "/api/v1/page-session", headers: place })).json();
    };
    expect(await ask({})).toEqual({ next: "npm run link" });
    expect(await ask(forwarded)).toEqual({ next: "mandate serve --link" });
  });

  it("opens no further page: its session ends when it ends", async () => {
    await using http = await openServer();
    const { pages, port, url } = http.server;
    const session = await beginPage(pages, http.token);
    const cookie = `mandate-page-${port}=${session}`;
    const path = "/api/v1/page-code";
    const headers = { authorization: undefined, cookie, origin: url };
    expect((await http.send({ method: "POST", path, headers })).status).toBe(403);
    expect((await http.send({ method: "POST", path })).status).toBe(201);
  });

  it("is signed in with a viewer's token alone, and wrong tokens are refused and counted", async () => {
    await using http = await openServer({ failureRate: { perSecond: 0.1, burst: 3 } });
    const begin = (token: string) =>
      http.send({
        method: "POST",
        path: "/api/v1/page-session",
        headers: { authorization: undefined, origin: http.server.url, ...json },
        body: JSON.stringify({ token }),
      });
    const token = await http.tokenFor("viewer");
    const begun = await begin(token);
    expect([begun.status, begun.json()]).toEqual([200, { path: "/" }]);
    const cookie = begun.headers["set-cookie"]?.[0]?.split(";")[0] ?? "";
    expect(cookie).not.toContain(token);
    const headers = { authorization: undefined, cookie, origin: http.server.url };
    const ask = async () => (await http.send({ path: "/api/v1/things", headers })).status;
    expect(await ask()).toBe(200);
    const wrong = await begin(`${token.slice(0, -1)}${token.endsWith("A") ? "B" : "A"}`);
    expect([wrong.status, wrong.json()["detail"]]).toEqual([
      401,
      "This token is unknown, expired or revoked.",
    ]);
    const guesses: number[] = [];
    for (let n = 0; n < 4; n++) guesses.push((await begin(`mnd_viewer_${n}`)).status);
    expect(guesses).toEqual([401, 401, 429, 429]);
    // A right one is not delayed by the guesses of others at the same address.
    expect((await begin(token)).status).toBe(200);
    await http.tokens.revoke("viewer", { id: "test", role: "admin" });
    // What is revoked is refused; this address has guessed too often to be told why.
    expect([await ask(), (await begin(token)).status]).toEqual([429, 429]);
  });

  it("leaves, and its cookie is worth nothing", async () => {
    await using http = await openServer();
    const { pages, port, url } = http.server;
    const session = await beginPage(pages, http.token);
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
    expect((await exchange(http, "x".repeat(1100))).status).toBe(400);
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
  const key = randomBytes(32);

  const session = async (pages: PageSessions, code = pages.createCode("t").code) => {
    const exchanged = await pages.exchange(code, { isLocal: true });
    return "session" in exchanged ? exchanged.session : undefined;
  };

  it("forgets sessions after half a day, and codes after ten minutes unless the server is local", async () => {
    let now = 1e12;
    const store = await openStore({ database: ":memory:" });
    const open = (isLocal: boolean) => new PageSessions({ now: () => now, store, isLocal });
    const [local, other] = [open(true), open(false)];
    const [kept, late] = [local.createCode("t"), other.createCode("t")];
    expect(local.createCode("t")).toEqual(kept);
    expect(local.createCode("u")).not.toEqual(kept);
    expect(other.createCode("t")).not.toEqual(late);
    const begun = (await session(other)) ?? "";
    expect(await other.tokenOf(begun)).toBe("t");
    now += 600_000;
    expect(await other.exchange(late.code, { isLocal: true })).toMatchObject({
      refused: "expired",
    });
    expect(await session(local, kept.code)).toEqual(expect.any(String));
    now += pageSessionMs - 600_001;
    expect(await other.tokenOf(begun)).toBe("t");
    now += 1;
    expect(await other.tokenOf(begun)).toBeUndefined();
    await store.close();
  });

  it("gives no code again that was used elsewhere or has expired there, and none works after a sign-out", async () => {
    let now = 1e12;
    const store = await openStore({ database: ":memory:" });
    const pages = new PageSessions({ now: () => now, store, isLocal: true });
    const [code, others] = [pages.createCode("t").code, pages.createCode("u").code];
    const elsewhere = { isLocal: false };
    expect(await pages.exchange(code, elsewhere)).toHaveProperty("session");
    const next = pages.createCode("t").code;
    expect(await pages.exchange(code, elsewhere)).toMatchObject({ refused: "used" });
    now += 600_000;
    const last = pages.createCode("t").code;
    expect(new Set([code, next, last]).size).toBe(3);
    expect(await pages.exchange(next, elsewhere)).toMatchObject({ refused: "expired" });
    await pages.end((await session(pages, last)) ?? "");
    for (const each of [code, next, last]) expect(await session(pages, each)).toBeUndefined();
    expect(await session(pages, others)).toEqual(expect.any(String));
    await store.close();
  });

  it("takes a link or a typed code once, whichever of several servers is asked, and however often at once", async () => {
    const store = await openStore({ database: ":memory:" });
    const servers = [1, 2, 3].map(() => new PageSessions({ now: Date.now, store, key }));
    const [first] = servers;
    const link = (await first?.createLink("t"))?.code ?? "";
    const short = (await first?.createShortCode("t"))?.code ?? "";
    expect(short).toMatch(/^[0-9A-HJKMNP-TV-Z]{5}-[0-9A-HJKMNP-TV-Z]{5}$/);
    for (const code of [link, short.replace("-", " ").toLowerCase()]) {
      const sessions = await Promise.all(servers.map((server) => session(server, code)));
      expect(sessions.filter((each) => each !== undefined)).toHaveLength(1);
      const begun = sessions.find((each) => each !== undefined) ?? "";
      for (const server of servers) expect(await server.tokenOf(begun)).toBe("t");
      expect(await first?.exchange(code, { isLocal: true })).toMatchObject({ refused: "used" });
    }
    expect(new Set(servers.map((server) => server.cookieName(1))).size).toBe(1);
    const stored = JSON.stringify(await store.listRecords("page-code"));
    for (const secret of [short.slice(2, 5), short.slice(6), link.slice(2)]) {
      expect(stored).not.toContain(secret);
    }
    await store.close();
  });

  it("takes a typed code for ten minutes, and after five wrong attempts not at all", async () => {
    let now = 1e12;
    const store = await openStore({ database: ":memory:" });
    const pages = new PageSessions({ now: () => now, store, key });
    const of = (code: string) => pages.exchange(code, { isLocal: true });
    const { code } = await pages.createShortCode("t");
    const other = (await pages.createShortCode("u")).code;
    const wrong = `${code.slice(0, -1)}${code.endsWith("0") ? "1" : "0"}`;
    // At the same time, so that no attempt goes uncounted.
    const guesses = await Promise.all([1, 2, 3, 4, 5, 6, 7].map(() => of(wrong)));
    const refusals = guesses.map((guess) => "refused" in guess && guess.refused);
    expect(refusals.toSorted()).toEqual([...Array(2).fill("tries"), ...Array(5).fill("wrong")]);
    expect(await of(code)).toEqual({ refused: "tries", isTyped: true });
    expect(await of("12345")).toEqual({ refused: "incomplete", isTyped: true });
    now += 600_000;
    expect(await of(other)).toEqual({ refused: "expired", isTyped: true });
    const last = (await pages.createShortCode("t")).code;
    expect(await store.listRecords("page-code")).toHaveLength(1);
    // A used code takes no more of them: each is a slow hash, and an entry in the log.
    expect(await of(last)).toMatchObject({ path: "/" });
    const [before] = await store.listRecords("page-code");
    for (let count = 0; count < 10; count++) await of(`${last.slice(0, 2)}${"0".repeat(8)}`);
    const [after] = await store.listRecords("page-code");
    expect((after?.version ?? 0) - (before?.version ?? 0)).toBe(4);
    await store.close();
  });

  it("keeps sessions over a restart with the key of the database, and ended ones ended", async () => {
    const store = await openStore({ database: ":memory:" });
    const [one, same] = await Promise.all([storedPageKey(store), storedPageKey(store)]);
    expect(one).toEqual(same);
    const start = async () =>
      new PageSessions({ now: Date.now, store, key: await storedPageKey(store), isLocal: true });
    const before = await start();
    const [kept, ended] = [before.begin("t"), before.begin("t")];
    await before.end(ended);
    before.close();
    const after = await start();
    expect([await after.tokenOf(kept), await after.tokenOf(ended)]).toEqual(["t", undefined]);
    await store.close();
  });

  it("ends a session at every server, also at one that starts later", async () => {
    let now = 1e12;
    const store = await openStore({ database: ":memory:" });
    const start = () => new PageSessions({ now: () => now, store, key });
    const [one, other] = [start(), start()];
    const ended = (await session(one)) ?? "";
    const kept = (await session(one)) ?? "";
    expect(await other.tokenOf(ended)).toBe("t");
    await one.end(ended);
    expect(await one.tokenOf(ended)).toBeUndefined();
    await expect.poll(() => other.tokenOf(ended), { timeout: 45_000 }).toBeUndefined();
    // Twice is once, and what is no session ends nothing.
    await other.end(ended);
    await other.end("nonsense");
    const late = start();
    expect([await late.tokenOf(ended), await late.tokenOf(kept)]).toEqual([undefined, "t"]);
    // Nothing is kept of what is over anyway.
    now += pageSessionMs;
    await start().tokenOf((await session(one)) ?? "");
    expect(await store.listRecords("ended-page-session")).toEqual([]);
    await store.close();
  });

  it("of a server with another key, or with none, count nowhere else", async () => {
    const store = await openStore({ database: ":memory:" });
    const keyed = new PageSessions({ now: Date.now, store, key });
    const others = [
      new PageSessions({ now: Date.now, store }),
      new PageSessions({ now: Date.now, store, key: randomBytes(32) }),
    ];
    const begun = (await session(keyed)) ?? "";
    for (const other of others) {
      expect(await other.tokenOf(begun)).toBeUndefined();
      expect(await session(other, keyed.createCode("t").code)).toBeUndefined();
      expect(await session(other, (await keyed.createLink("t")).code)).toBeUndefined();
      expect(other.cookieName(4848)).not.toBe(keyed.cookieName(4848));
    }
    expect(await keyed.tokenOf(begun)).toBe("t");
    await store.close();
  });
});

describe("PageSeal", () => {
  const seal = new PageSeal(randomBytes(32));
  const sealed = { token: "mnd_ann_secret", until: 1.5e12 };

  it("opens what it sealed as what it was sealed as, and nothing that was changed", () => {
    const text = seal.seal("code", sealed);
    expect(seal.open("code", text)).toEqual(sealed);
    expect(seal.open("session", text)).toBeUndefined();
    expect(text).not.toContain(Buffer.from("secret").toString("base64url").slice(0, 6));
    const bytes = Buffer.from(text, "base64url");
    for (let at = 0; at < bytes.length; at++) {
      const changed = Buffer.from(bytes);
      changed[at] = (changed[at] ?? 0) ^ 1;
      expect(seal.open("code", changed.toString("base64url")), `byte ${at}`).toBeUndefined();
      expect(seal.open("code", bytes.subarray(0, at).toString("base64url"))).toBeUndefined();
    }
  });

  it("knows one spelling: a code that was used does not come back as another text", () => {
    const text = seal.seal("code", sealed);
    for (const other of [`${text}=`, `${text}!`, ` ${text}`, text.replace(/-/g, "+")]) {
      if (other !== text) expect(seal.open("code", other), other).toBeUndefined();
    }
    expect(seal.open("code", "")).toBeUndefined();
    expect(seal.open("code", "A".repeat(5000))).toBeUndefined();
  });
});

describe("MANDATE_PAGE_KEY", () => {
  it("is 32 bytes in base64, or the server does not start", () => {
    const text = randomBytes(32).toString("base64");
    expect(readPageKey({ MANDATE_PAGE_KEY: `${text}\n` })).toEqual(Buffer.from(text, "base64"));
    expect(readPageKey({})).toBeUndefined();
    expect(readPageKey({ MANDATE_PAGE_KEY: "" })).toBeUndefined();
    for (const wrong of ["secret", randomBytes(16).toString("base64"), `${text}AAAA`, `!${text}`]) {
      expect(() => readPageKey({ MANDATE_PAGE_KEY: wrong }), wrong).toThrow(
        /openssl rand -base64 32/,
      );
    }
  });
});
