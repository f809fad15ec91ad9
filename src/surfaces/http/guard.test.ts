import { describe, expect, it } from "vitest";
import type { Mount, Mounts } from "./mount.ts";
import { routes } from "./routes/all-routes.ts";
import {
  beginPage,
  json,
  openServer,
  type Sent,
  type TestServer,
  testRoutes,
} from "./server.test-support.ts";

/** What a request has otherwise: everything in order. `undefined` takes something away. */
type Headers = Readonly<Record<string, string | readonly string[] | undefined>>;

interface Variant {
  readonly headers: Headers;
  readonly status: readonly number[];
  readonly query?: string;
}

const refuse = (status: number | readonly number[], headers: Headers, query = ""): Variant => ({
  headers,
  query,
  status: [status].flat(),
});

/** With a token that is good, and everything else that could be wrong about where it comes from. */
function foreignPlaces(port: number): readonly Variant[] {
  const hosts = [
    "evil.example",
    `evil.example:${port}`,
    "localhost",
    "127.0.0.1:1",
    `localhost.evil.example:${port}`,
    `127.0.0.1.nip.io:${port}`,
    `127.1:${port}`,
    `2130706433:${port}`,
    `0.0.0.0:${port}`,
    `[::ffff:127.0.0.1]:${port}`,
    `evil@localhost:${port}`,
    `localhost:${port}@evil.example`,
    `localhost:${port}.evil.example`,
    `localhost:${port}, evil.example`,
    "",
  ];
  const origins = [
    "null",
    "http://evil.example",
    `http://evil.example:${port}`,
    `https://localhost:${port}`,
    "http://localhost",
    "http://localhost:3000",
    "http://127.0.0.1:3000",
    `http://localhost:${port}.evil.example`,
    `http://127.0.0.1.evil.example:${port}`,
    `http://localhost:${port}/`,
    `http://evil@localhost:${port}`,
    "file://",
    "chrome-extension://abcdefghijklmnop",
    "vscode-webview://x",
    "",
  ];
  const sites = ["cross-site", "same-site", "SAME-ORIGIN", "x"];
  const good = `http://127.0.0.1:${port}`;
  return [
    ...hosts.map((host) => refuse([400, 421], { host })),
    refuse(400, { host: [`localhost:${port}`, "evil.example"] }),
    ...origins.map((origin) => refuse(403, { origin })),
    refuse(400, { origin: [good, "http://evil.example"] }),
    ...sites.map((site) => refuse(403, { "sec-fetch-site": site })),
    refuse(403, { origin: good, "sec-fetch-site": "cross-site" }),
    refuse(403, { origin: "http://evil.example", "sec-fetch-site": "same-origin" }),
  ];
}

/** From a good place, with nothing that says who it is. */
function strangers(port: number, token: string, session: string): readonly Variant[] {
  const good = `http://127.0.0.1:${port}`;
  const page = { authorization: undefined, cookie: `mandate-page-${port}=${session}` };
  const tokens = [
    "",
    "Bearer",
    "Bearer ",
    token,
    `Basic ${Buffer.from(`local:${token}`).toString("base64")}`,
    `Token ${token}`,
    `Bearer ${token}x`,
    `Bearer ${token.slice(0, -1)}`,
    `Bearer ${token.toUpperCase()}`,
    `Bearer "${token}"`,
    `Bearer ${token} ${token}`,
    `Bearer ${token}, Bearer ${token}`,
    `Bearer mnd_local_${"A".repeat(43)}`,
    `Bearer mnd_nobody_${"A".repeat(43)}`,
    `Bearer mnd___proto___${"A".repeat(43)}`,
    `Bearer ${"A".repeat(5000)}`,
    "Bearer undefined",
  ];
  return [
    refuse(401, { authorization: undefined }),
    refuse(401, { authorization: undefined, origin: good }),
    refuse(401, { authorization: undefined, "sec-fetch-site": "same-origin" }),
    refuse(401, { authorization: undefined, "sec-fetch-site": "none" }),
    refuse(401, { authorization: undefined, "x-api-key": token }),
    refuse(401, { authorization: undefined, "x-forwarded-for": "127.0.0.1" }),
    refuse(401, { authorization: undefined, "proxy-authorization": `Bearer ${token}` }),
    refuse(401, { authorization: undefined }, `?token=${token}`),
    refuse(401, { authorization: undefined }, `?access_token=${token}`),
    ...tokens.map((authorization) => refuse(401, { authorization })),
    refuse(400, { authorization: [`Bearer ${token}`, `Bearer ${token}`] }),
    // A page's session: only for that page, and only while it holds.
    refuse(403, page),
    refuse(403, { ...page, "sec-fetch-site": "none" }),
    refuse(403, { ...page, "sec-fetch-site": "same-site" }),
    refuse(403, { ...page, origin: "null" }),
    refuse(403, { ...page, origin: "http://localhost:3000" }),
    // Another name of this machine is another origin, though both are ours.
    refuse(403, { ...page, origin: `http://localhost:${port}` }),
    refuse(401, { ...page, cookie: `mandate-page-${port}=x`, origin: good }),
    refuse(401, { ...page, cookie: `mandate-page=${session}`, origin: good }),
    refuse(401, { ...page, cookie: `mandate-page-${port}=${token}`, origin: good }),
    refuse(401, { ...page, cookie: `${page.cookie}; ${page.cookie}`, origin: good }),
    refuse(401, { ...page, origin: good, authorization: "Bearer x" }),
  ];
}

/** From somebody who may, in a form that is not taken. */
const forms: readonly Variant[] = [
  "text/plain",
  "text/plain; charset=utf-8",
  "application/x-www-form-urlencoded",
  "multipart/form-data; boundary=x",
  "text/json",
  "application/xml",
  "application/json-patch+json",
  "application/json; charset=utf-16",
  "application/json, text/plain",
  "",
].map((type) => refuse(415, { "content-type": type }));

const encodings: readonly Variant[] = ["gzip", "deflate", "br", "zstd", "gzip, identity"].map(
  (encoding) => refuse(415, { "content-encoding": encoding }),
);

const mount: Mount = async () => new Response("reached");
const mounts: Mounts = {
  mcp: mount,
  events: mount,
  inboxEvents: mount,
  metrics: mount,
};

type Operation = Pick<Sent, "path"> & { readonly method: string; readonly role: string };

/** Everything that a server answers, once for each method that it takes there. */
const operations: readonly Operation[] = [
  ...[...routes, ...testRoutes].map(({ method, path, role }) => ({
    method,
    role,
    path: `/api/v1${path.replace(/:\w+/g, "abc123")}`,
  })),
  ...["GET", "POST", "DELETE"].map((method) => ({ method, path: "/mcp", role: "viewer" })),
  { method: "POST", path: "/api/v1/page-code", role: "viewer" },
  ...["events", "delegations/abc123/events", "inbox/events", "openapi.json"].map((path) => ({
    method: "GET",
    path: `/api/v1/${path}`,
    role: "viewer",
  })),
  { method: "GET", path: "/metrics", role: "viewer" },
];

const fast = { perSecond: 1e6, burst: 1e6 };
const unlimited = { rate: fast, failureRate: fast };

describe("the guard", () => {
  it("refuses every operation to whoever comes from elsewhere, is nobody, or sends no JSON", async () => {
    await using http = await openServer({
      ...unlimited,
      ...mounts,
      routes: [...routes, ...testRoutes],
    });
    const { port, pages } = http.server;
    const session = await beginPage(pages, http.token);
    const everywhere = [...foreignPlaces(port), ...strangers(port, http.token, session)];
    expect(everywhere.length).toBeGreaterThan(60);
    const before = await changesOf(http);
    let sent = 0;
    for (const { method, path } of operations) {
      const hasBody = method === "POST" || method === "PUT";
      const variants = [...everywhere, ...(hasBody ? [...forms, ...encodings] : [])];
      const received = await Promise.all(
        variants.map(async ({ headers, query = "" }) => {
          const body = hasBody ? { headers: { ...json, ...headers }, body: "{}" } : { headers };
          return http.send({ method, path: path + query, ...body });
        }),
      );
      for (const [index, variant] of variants.entries()) {
        const { status, headers, text } = received[index] ?? { status: 0, headers: {}, text: "" };
        const what = `${method} ${path} ${JSON.stringify(variant.headers)}: ${status} ${text}`;
        expect(variant.status, what).toContain(status);
        expect(headers["access-control-allow-origin"], what).toBeUndefined();
        expect(headers["www-authenticate"] !== undefined, what).toBe(status === 401);
        sent += 1;
      }
    }
    expect(await changesOf(http)).toBe(before);
    expect(sent).toBeGreaterThan(40 * operations.length);
  }, 60_000);

  it("holds every operation to its role", async () => {
    await using http = await openServer({ ...unlimited, routes: [...routes, ...testRoutes] });
    const viewer = `Bearer ${await http.tokenFor("viewer")}`;
    const operator = `Bearer ${await http.tokenFor("operator")}`;
    const before = await changesOf(http);
    for (const { method, path, role } of operations) {
      if (role === "viewer") continue;
      for (const authorization of role === "admin" ? [viewer, operator] : [viewer]) {
        const refused = await http.send({
          method,
          path,
          headers: { authorization, ...json },
          ...(method !== "GET" && { body: "{}" }),
        });
        expect([method, path, refused.status, refused.json()["code"]]).toEqual([
          method,
          path,
          403,
          "forbidden",
        ]);
      }
    }
    expect(await changesOf(http)).toBe(before);
  });

  it("lets a good token in from where it may come", async () => {
    await using http = await openServer({ allowedHosts: ["mandate.example"] });
    const { port } = http.server;
    const places: readonly Headers[] = [
      {},
      { host: `localhost:${port}` },
      { host: `LocalHost:${port}` },
      { host: `[::1]:${port}` },
      { host: "mandate.example" },
      { host: `mandate.example:${port}` },
      { origin: `http://localhost:${port}` },
      { origin: `http://127.0.0.1:${port}`, "sec-fetch-site": "same-origin" },
      { host: "mandate.example", origin: "https://mandate.example" },
      { "sec-fetch-site": "none" },
      { authorization: `bearer  ${http.token}` },
    ];
    for (const headers of places) {
      const { status } = await http.send({ path: "/api/v1/things", headers });
      expect([headers, status]).toEqual([headers, 200]);
    }
  });

  it("lets in what was created and refuses it from the moment that it is revoked", async () => {
    await using http = await openServer();
    const headers = { authorization: `Bearer ${await http.tokenFor("viewer")}` };
    expect((await http.send({ path: "/api/v1/things", headers })).status).toBe(200);
    await http.tokens.revoke("viewer", { id: "test", role: "admin" });
    expect((await http.send({ path: "/api/v1/things", headers })).status).toBe(401);
  });

  it("stops talking to whoever guesses, and locks nobody out who has a token", async () => {
    await using http = await openServer({ failureRate: { perSecond: 0.5, burst: 5 } });
    const viewer = { authorization: `Bearer ${await http.tokenFor("viewer")}` };
    const guess = (n: number) => ({
      authorization: `Bearer mnd_local_${String(n).padStart(43, "A")}`,
    });
    const statuses: number[] = [];
    for (let n = 0; n < 8; n++) {
      statuses.push((await http.send({ path: "/api/v1/things", headers: guess(n) })).status);
    }
    expect(statuses).toEqual([401, 401, 401, 401, 401, 429, 429, 429]);
    const late = await http.send({ path: "/api/v1/things", headers: guess(9) });
    expect([late.status, late.headers["retry-after"]]).toEqual([429, "2"]);
    expect((await http.send({ path: "/api/v1/things" })).status).toBe(200);
    // Also one that was never seen here before.
    expect((await http.send({ path: "/api/v1/things", headers: viewer })).status).toBe(200);
  });

  it("holds each principal to its own rate", async () => {
    await using http = await openServer({ rate: { perSecond: 1, burst: 4 } });
    const viewer = { authorization: `Bearer ${await http.tokenFor("viewer")}` };
    const all = await Promise.all(
      Array.from({ length: 7 }, () => http.send({ path: "/api/v1/things" })),
    );
    expect(all.map(({ status }) => status).toSorted()).toEqual([200, 200, 200, 200, 429, 429, 429]);
    expect(all.find(({ status }) => status === 429)?.headers["retry-after"]).toBe("1");
    expect((await http.send({ path: "/api/v1/things", headers: viewer })).status).toBe(200);
  });

  it("counts what costs more for more", async () => {
    const dear = testRoutes.map((route) =>
      route.method === "GET" ? { ...route, cost: 5 } : route,
    );
    await using http = await openServer({ routes: dear, rate: { perSecond: 0.5, burst: 8 } });
    const statuses: number[] = [];
    for (let n = 0; n < 3; n++) statuses.push((await http.send({ path: "/api/v1/things" })).status);
    expect(statuses).toEqual([200, 200, 429]);
  });
});

/** Whatever is decided or started is an event. */
async function changesOf({ engine }: TestServer): Promise<number> {
  let count = 0;
  for await (const _ of engine.store.readEvents({})) count += 1;
  return count;
}
