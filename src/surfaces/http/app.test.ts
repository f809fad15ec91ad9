import { describe, expect, it } from "vitest";
import { json, openServer } from "./server.test-support.ts";

describe("the HTTP server", () => {
  it("answers a route, and takes words before parameters", async () => {
    await using http = await openServer();
    const one = await http.send({ path: "/api/v1/things/%40writer" });
    expect([one.status, one.json()]).toEqual([200, { id: "@writer" }]);
    expect((await http.send({ path: "/api/v1/things/special" })).json()).toEqual({ special: true });
    const body = JSON.stringify({ name: "a" });
    const made = await http.send({ method: "POST", path: "/api/v1/things", headers: json, body });
    expect([made.status, made.json()["by"]]).toEqual([201, "local"]);
    const put = await http.send({ method: "PUT", path: "/api/v1/things/a", headers: json, body });
    expect([put.status, put.text]).toEqual([204, ""]);
  });

  it("names what it does not know, and what is wrong where", async () => {
    await using http = await openServer();
    const query = await http.send({ path: "/api/v1/things?limt=3&token=x" });
    expect(query.status).toBe(400);
    expect(query.headers["content-type"]).toBe("application/problem+json");
    expect(query.json()).toMatchObject({
      code: "request-invalid",
      type: "urn:mandate:problem:request-invalid",
      errors: [
        { field: "query.limt", message: "is unknown" },
        { field: "query.token", message: "is unknown" },
      ],
    });
    const twice = await http.send({ path: "/api/v1/things?limit=3&limit=4" });
    expect(twice.json()["detail"]).toMatch(/query\.limit: is given twice/);
    const hidden = await http.send({ path: "/api/v1/things?__proto__=1" });
    expect(hidden.json()["detail"]).toMatch(/query\.__proto__/);
    const send = (method: string, path: string, body: string) =>
      http.send({ method, path, headers: json, body });
    for (const [body, says] of [
      ['{"nmae":"a"}', /body\.name|body\.nmae/],
      ['{"name":1}', /body\.name/],
      ['{"name":"a","x":1}', /body\.x: is unknown/],
      ['{"name":"a","name":"b"}', /name: the key is there twice/],
      ['{"__proto__":{},"name":"a"}', /__proto__/],
      ['["a"]', /must be a JSON object/],
      ["null", /must be a JSON object/],
      ['{"name":', /not JSON/],
      [`{"name":${"[".repeat(100)}${"]".repeat(100)}}`, /nested deeper/],
      [`{"name":[${"1,".repeat(60_000)}1]}`, /more than 50000 values/],
    ] as const) {
      const refused = await send("POST", "/api/v1/things", body);
      expect([refused.status, refused.json()["detail"]], body).toEqual([
        400,
        expect.stringMatching(says),
      ]);
    }
    // Also where the schema forgot to be strict.
    const loose = await send("PUT", "/api/v1/things/a", '{"name":"a","x":1}');
    expect(loose.json()["detail"]).toMatch(/body\.x: is unknown/);
    expect((await send("DELETE", "/api/v1/things/a", '{"x":1}')).status).toBe(400);
    const bytes = Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d]);
    const notText = { method: "POST", path: "/api/v1/things", headers: json, body: bytes };
    expect((await http.send(notText)).json()["detail"]).toMatch(/not UTF-8/);
    const get = { path: "/api/v1/things", headers: { "content-length": "3" }, body: "{}\n" };
    expect((await http.send(get)).status).toBe(400);
  });

  it("says which methods an address takes, and knows no other", async () => {
    await using http = await openServer();
    for (const [method, path, status, allow] of [
      ["PATCH", "/api/v1/things", 405, "GET, POST"],
      ["PROPFIND", "/api/v1/things/a", 405, "GET, PUT, DELETE"],
      ["TRACE", "/api/v1/things", 405, "GET, POST"],
      ["HEAD", "/api/v1/things", 405, "GET, POST, PUT, DELETE"],
      ["OPTIONS", "/api/v1/things", 405, "GET, POST, PUT, DELETE"],
      ["GET", "/api/v1/nothing", 404, undefined],
      ["GET", "/api/v1/Things", 404, undefined],
      ["GET", "/api/v1/things/", 404, undefined],
      ["GET", "/", 404, undefined],
      ["GET", "/mcp", 404, undefined],
    ] as const) {
      const { status: got, headers } = await http.send({ method, path });
      expect([method, path, got, headers.allow]).toEqual([method, path, status, allow]);
    }
  });

  it("tells a caller's mistake in its own words, and of its own no more than a number", async () => {
    await using http = await openServer();
    const post = (body: object) =>
      http.send({
        method: "POST",
        path: "/api/v1/things",
        headers: json,
        body: JSON.stringify(body),
      });
    const unknown = await http.send({ path: "/api/v1/things/missing" });
    expect([unknown.status, unknown.json()["detail"]]).toEqual([404, "There is no run missing."]);
    const refused = await post({ name: "a", fail: "policy" });
    expect([refused.status, refused.json()["code"]]).toEqual([403, "refused-by-policy"]);
    expect(http.log).toEqual([]);
    for (const [fail, status, secret] of [
      ["inside", 500, /secret of the inside/],
      ["full", 507, /\/secret\/path/],
    ] as const) {
      const failed = await post({ name: "a", fail });
      expect(failed.status).toBe(status);
      expect(failed.text).not.toMatch(/secret|\.ts/);
      const line = http.log.find((one) => one.includes(String(failed.json()["instance"])));
      expect(line).toMatch(secret);
    }
  });

  it("puts its security headers on every reply, and grants no origin anything", async () => {
    await using http = await openServer();
    const replies = await Promise.all([
      http.send({ path: "/api/v1/things" }),
      http.send({ path: "/api/v1/nothing" }),
      http.send({ path: "/api/v1/things", headers: { authorization: undefined } }),
      http.send({ path: "/api/v1/things", headers: { host: "evil.example" } }),
      http.send({ path: "//" }),
      http.send({ method: "OPTIONS", path: "/api/v1/things" }),
    ]);
    expect(replies.map(({ status }) => status)).toEqual([200, 404, 401, 421, 400, 405]);
    for (const { headers } of replies) {
      expect(headers).toMatchObject({
        "x-content-type-options": "nosniff",
        "referrer-policy": "no-referrer",
        "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
        "cache-control": "no-store",
      });
      expect(Object.keys(headers).filter((name) => name.startsWith("access-control"))).toEqual([]);
    }
  });
});
