import { beforeEach, describe, expect, it } from "vitest";
import { until } from "../../testing/until.ts";
import { counted, holdRequests, json, openServer, type TestServer } from "./server.test-support.ts";

function post(http: TestServer, key: string, body: object, headers: object = {}) {
  return http.send({
    method: "POST",
    path: "/api/v1/things",
    headers: { "idempotency-key": key, ...json, ...headers },
    body: JSON.stringify(body),
  });
}

describe("an idempotency key", () => {
  beforeEach(() => {
    counted.times = 0;
  });

  it("does a request once, and gives the same reply to every repetition", async () => {
    await using http = await openServer();
    const first = await post(http, "k 1", { name: "a" });
    const again = await post(http, "k 1", { name: "a" });
    expect([first.status, first.headers["idempotent-replay"]]).toEqual([201, undefined]);
    expect([again.status, again.headers["idempotent-replay"]]).toEqual([201, "true"]);
    expect(again.text).toBe(first.text);
    expect(again.headers["content-type"]).toBe("application/json");
    expect(counted.times).toBe(1);
  });

  it("is refused for another body, and another principal has it for itself", async () => {
    await using http = await openServer();
    await post(http, "k", { name: "a" });
    const other = await post(http, "k", { name: "b" });
    expect([other.status, other.json()["code"]]).toEqual([409, "key-reused"]);
    const authorization = `Bearer ${await http.tokenFor("operator")}`;
    const theirs = await post(http, "k", { name: "b" }, { authorization });
    expect([theirs.status, theirs.json()["by"]]).toEqual([201, "operator"]);
  });

  it("says that the first request is still running", async () => {
    await using http = await openServer();
    const held = holdRequests();
    let answered = 0;
    const sent = Array.from({ length: 10 }, async () => {
      const reply = await post(http, "k", { name: "a", isHeld: true });
      answered++;
      return reply;
    });
    await until("all but one are answered", () => answered === 9);
    held.release();
    const racing = await Promise.all(sent);
    expect(counted.times).toBe(1);
    const codes = racing.map((reply) => reply.json()["code"] ?? reply.status).toSorted();
    expect(codes).toEqual([201, ...Array.from({ length: 9 }, () => "request-running")]);
    expect((await post(http, "k", { name: "a", isHeld: true })).status).toBe(201);
  });

  it("lets its request end without the client, who comes back for the answer", async () => {
    await using http = await openServer();
    const held = holdRequests();
    const socket = http.socket();
    const asked = { name: "a", isHeld: true, leaves: true };
    const body = JSON.stringify(asked);
    socket.write(
      [
        "POST /api/v1/things HTTP/1.1",
        `Host: localhost:${http.server.port}`,
        `Authorization: Bearer ${http.token}`,
        "Content-Type: application/json",
        `Content-Length: ${body.length}`,
        "Idempotency-Key: k",
        "",
        body,
      ].join("\r\n"),
    );
    await until("the request is begun", () => counted.times === 1);
    socket.destroy();
    // What the server answers now it answers after it has noticed that the client is gone.
    await http.send({ path: "/api/v1/things" });
    held.release();
    const again = await until("the request has ended", async () => {
      const reply = await post(http, "k", asked);
      return reply.json()["code"] !== "request-running" && reply;
    });
    expect([again.status, again.headers["idempotent-replay"]]).toEqual([201, "true"]);
    expect(counted.times).toBe(1);
  });

  it("is free again after a refusal, and answers a failure of ours alike", async () => {
    await using http = await openServer();
    expect((await post(http, "k", { name: 1 })).status).toBe(400);
    expect((await post(http, "k", { name: "a", fail: "policy" })).status).toBe(403);
    expect((await post(http, "k", { name: "a" })).status).toBe(201);
    const failed = await post(http, "f", { name: "a", fail: "inside" });
    const again = await post(http, "f", { name: "a", fail: "inside" });
    expect([failed.status, again.status, again.headers["idempotent-replay"]]).toEqual([
      500,
      500,
      "true",
    ]);
    expect(again.headers["content-type"]).toBe("application/problem+json");
    expect(again.text).toBe(failed.text);
    expect(counted.times).toBe(2);
  });

  it("outlives the server, and says so where the server ended before it had answered", async () => {
    await using http = await openServer();
    const done = await post(http, "done", { name: "a" });
    // As the next process finds it: begun by one that is gone.
    const gone = await http.engine.another({ model: () => ({ text: "" }) });
    const { hash } = await import("node:crypto");
    const fingerprint = hash("sha256", 'POST /api/v1/things\n{"name":"a"}');
    await gone.store.idempotency.begin({ principal: "local", key: "cut", fingerprint }, 0);
    await gone.close();
    expect((await post(http, "done", { name: "a" })).text).toBe(done.text);
    const cut = await post(http, "cut", { name: "a" });
    expect([cut.status, cut.json()["code"]]).toEqual([409, "outcome-unknown"]);
    expect(cut.json()["detail"]).toMatch(/GET \/api\/v1\/runs/);
    expect(counted.times).toBe(1);
  });

  it("is not answered for a request that the server stopped in the middle of", async () => {
    await using http = await openServer();
    holdRequests();
    const cut = post(http, "k", { name: "a", isHeld: true, leaves: true });
    await until("the request is begun", () => counted.times === 1);
    await http.server.close(30_000);
    expect([(await cut).status, http.log]).toEqual([503, []]);
    const fingerprint = "any";
    const standing = await http.engine.store.idempotency.begin(
      { principal: "local", key: "k", fingerprint },
      0,
    );
    expect(standing).toEqual({ is: "taken" });
  });

  it("has to be printable, and no longer than 255 characters", async () => {
    await using http = await openServer();
    for (const key of ["", "x".repeat(256), "\u00e9"]) {
      expect((await post(http, key, { name: "a" })).status).toBe(400);
    }
    expect((await post(http, "x".repeat(255), { name: "a" })).status).toBe(201);
  });
});
