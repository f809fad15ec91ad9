import assert from "node:assert/strict";
import { METHODS } from "node:http";
import { gzipSync } from "node:zlib";
import fc, { type Arbitrary } from "fast-check";
import { routes } from "../../../src/surfaces/http/routes/all-routes.ts";
import { nastyJson, nastyText } from "../hostile-text.ts";
import { defineTarget } from "../target.ts";
import { type HttpServer, openHttpServer, type Sent } from "./http-server.ts";

const parameters = [
  "<run>",
  "<delegation>",
  "r000000",
  "zzzzzz",
  "..",
  "%2e%2e",
  "%00",
  "%ff",
  "a%2fb",
  "@writer",
  "__proto__",
  "1",
  "-1",
  "x".repeat(300),
];
const queries = [
  "",
  "?limit=1",
  "?limit=-1",
  "?limit=1e9",
  "?limit=1&limit=2",
  "?cursor=x",
  "?after=0",
  "?after=99999999999999999",
  "?__proto__=1",
  "?%00",
  "?a=%ff",
  "?wait=1",
  "?types=run.started",
  "?open=maybe",
  "?q=../../etc/passwd",
];

/** Places of the table, with anything in the place of their parameters. */
const targets: Arbitrary<{ readonly method: string; readonly path: string }> = fc.oneof(
  fc
    .tuple(
      fc.constantFrom(
        ...routes.map(({ method, path }) => ({ method, path })),
        { method: "GET", path: "/events" },
        { method: "GET", path: "/inbox/events" },
      ),
      fc.array(fc.constantFrom(...parameters), { minLength: 3, maxLength: 3 }),
      fc.constantFrom(...queries),
      fc.option(fc.constantFrom(...METHODS.filter((name) => name !== "CONNECT")), { freq: 4 }),
    )
    .map(([route, values, query, method]) => {
      let index = 0;
      const path = route.path.replaceAll(/:\w+/g, () => values[index++] ?? "");
      return { method: method ?? route.method, path: `/api/v1${path}${query}` };
    }),
  fc
    .constantFrom(
      "/",
      "/metrics",
      "/mcp",
      "/api/v1/openapi.json",
      "/api/v1/nothing",
      "/healthz",
      "/../../etc/passwd",
      "/assets/../../x",
      "//",
      "/%2e%2e/",
    )
    .map((path) => ({ method: "GET", path })),
);

type Header = readonly [string, string];
export const plainValue = fc
  .string({ unit: "binary-ascii", maxLength: 20 })
  .map((text) => text.replaceAll(/[^\x20-\x7e]/g, "?"));
const headers: Arbitrary<readonly Header[]> = fc.array(
  fc.oneof(
    fc.constantFrom<Header>(
      ...([
        ["content-type", "application/json"],
        ["content-type", "text/plain"],
        ["content-type", "application/json; charset=utf-16"],
      ] as const),
      ...([
        ["content-encoding", "gzip"],
        ["content-encoding", "br"],
        ["accept", "text/event-stream"],
        ["accept", "*/*;q=0"],
      ] as const),
      ...([
        ["last-event-id", "0"],
        ["last-event-id", "-1"],
        ["last-event-id", "99999999999999999999"],
        ["last-event-id", "abc"],
      ] as const),
      ...([
        ["idempotency-key", "k"],
        ["idempotency-key", ""],
        ["idempotency-key", "x".repeat(300)],
        ["if-match", '"7"'],
      ] as const),
      ...([
        ["origin", "http://evil.example"],
        ["origin", "null"],
        ["range", "bytes=0-"],
        ["expect", "100-continue"],
        ["cookie", "a=b"],
      ] as const),
      ...([
        ["x-forwarded-for", "1.2.3.4"],
        ["x-http-method-override", "DELETE"],
        ["forwarded", "host=evil"],
        ["te", "trailers"],
      ] as const),
    ),
    plainValue.map((value): Header => ["x-any", value]),
    plainValue.map((value): Header => ["last-event-id", value]),
  ),
  { maxLength: 4 },
);

const bodies: Arbitrary<string | Uint8Array> = fc.oneof(
  fc.constant(""),
  nastyJson.map((value) => JSON.stringify(value)),
  fc
    .tuple(
      fc.constantFrom(
        "task",
        "profile",
        "text",
        "name",
        "role",
        "workspace",
        "value",
        "reason",
        "answer",
        "version",
        "agents",
        "plan",
        "at",
        "limits",
      ),
      nastyJson,
    )
    .map(([name, value]) => JSON.stringify({ task: "x", [name]: value })),
  nastyText,
  fc.constantFrom(
    `${"[".repeat(100_000)}`,
    `{"task":"${"x".repeat(2_000_000)}"}`,
    '{"task":1,"task":2}',
    '{"__proto__":{"a":1}}',
    "\ufeff{}",
  ),
  fc.constant(gzipSync(Buffer.alloc(10_000_000))),
);

const who = fc.constantFrom("admin", "admin", "admin", "viewer", "nobody", "wrong");

export const httpRequests = defineTarget({
  name: "http-requests",
  surface: "http",
  promise:
    "every request is answered within a second, never by a failure of ours, and by nobody unknown",
  caseMs: 1500,
  cases: 250,
  async open() {
    const server = await openHttpServer();
    return {
      inputs: fc.record({ target: targets, headers, body: bodies, who }),
      async check({ body, headers: more, target, who: principal }) {
        const { method } = target;
        const path = target.path
          .replaceAll("<run>", server.runId)
          .replaceAll("<delegation>", server.delegationId);
        const hasBody = method !== "GET" && method !== "HEAD" && body.length > 0;
        const sent: Sent = {
          ...{ method, path, body: hasBody ? body : "" },
          headers: [
            ["host", `127.0.0.1:${server.port}`],
            ...authorizationOf(principal, server),
            ...(hasBody ? [["content-length", String(Buffer.byteLength(body))] as const] : []),
            ...(method === "POST" || method === "PUT"
              ? [["content-type", "application/json"] as const]
              : []),
            ...more.filter(([name]) => !(name === "expect" && hasBody)),
          ],
        };
        const before = server.log.length;
        const { status, text, type } = await server.send(sent).catch(explainReset);
        assert.ok(
          status < 500 || status === 501 || status === 503,
          `${status}: ${text} ${server.log.slice(before).join("\n")}`,
        );
        if (status >= 400 && method !== "HEAD" && text !== "") assert.match(type, /json/);
        const isClosed = principal === "nobody" || principal === "wrong";
        if (isClosed && path.startsWith("/api/v1/") && !path.includes("openapi") && status < 400) {
          assert.fail(`${method} ${path} was answered with ${status} to ${principal}`);
        }
        if (principal === "viewer" && status < 300)
          assert.ok(["GET", "HEAD", "POST"].includes(method));
      },
      close: () => server.close(),
    };
  },
});

/** The server may hang up on a body that it will not read; then there was an answer, or there is none. */
function explainReset(error: NodeJS.ErrnoException): {
  status: number;
  text: string;
  type: string;
} {
  if (error.code !== "ECONNRESET" && error.code !== "EPIPE") throw error;
  return { status: 400, text: "", type: "" };
}

function authorizationOf(
  principal: string,
  server: HttpServer,
): readonly (readonly [string, string])[] {
  if (principal === "nobody") return [];
  const token =
    { admin: server.token, viewer: server.viewer, wrong: "mandate_0000" }[principal] ?? "";
  return [["authorization", `Bearer ${token}`]];
}
