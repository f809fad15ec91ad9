import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import { beforeEach, describe, expect, it } from "vitest";
import { testFolder } from "../../testing/test-folder.test-support.ts";
import { openServer } from "./server.test-support.ts";
import { type StaticFiles, staticFiles } from "./static-files.ts";

let folder: string;
let files: StaticFiles;

beforeEach(() => {
  folder = testFolder();
  mkdirSync(join(folder, "page", "assets"), { recursive: true });
  writeFileSync(join(folder, "page", "index.html"), "<p>page</p>");
  writeFileSync(join(folder, "page", "assets", "main-1a2b.js"), "run()");
  writeFileSync(join(folder, "page", "notes.txt"), "not for the web");
  writeFileSync(join(folder, "secret.js"), "secret");
  files = staticFiles(join(folder, "page"));
});

const ask = (path: string, headers = {}) =>
  files(new Request(`http://127.0.0.1:1${path}`, { headers }));

describe("static files", () => {
  it("are the page at the paths that its router knows, and at no others", async () => {
    const source = readFileSync(
      join(import.meta.dirname, "../../../dashboard/src/pages.tsx"),
      "utf8",
    );
    const known = [...source.matchAll(/path: "([^"]+)"/g)].map(([, path = ""]) => path);
    expect(known.length).toBeGreaterThan(5);
    for (const path of known) {
      expect([path, await (await ask(path.replace(/:\w+/, "x1")))?.text()]).toEqual([
        path,
        "<p>page</p>",
      ]);
    }
    const unknown = [
      "/healthz",
      "/readyz",
      "/livez",
      "/health",
      "/admin",
      "/runs/a/b",
      "/system/x",
    ];
    for (const path of unknown) expect([path, await ask(path)]).toEqual([path, undefined]);
  });

  it("tell a person at a wrong address so in the page, with the status of a missing one", async () => {
    const accept = { accept: "text/html,application/xhtml+xml;q=0.9,*/*;q=0.8" };
    for (const path of ["/runz", "/runs/a/b", "/%3Cimg%20src=x%3E"]) {
      const response = await ask(path, accept);
      expect([path, response?.status, await response?.text()]).toEqual([path, 404, "<p>page</p>"]);
      expect(response?.headers.get("content-security-policy")).toContain("default-src 'none'");
      expect(response?.headers.get("cache-control")).toBe("no-store");
    }
    expect((await ask("/overview", accept))?.status).toBe(200);
  });

  it("are never kept as a page, under a strict policy", async () => {
    for (const path of ["/", "/runs", "/runs/r123456", "/index.html"]) {
      const response = await ask(path);
      expect([path, await response?.text()]).toEqual([path, "<p>page</p>"]);
      expect(response?.headers.get("cache-control")).toBe("no-store");
      expect(response?.headers.get("x-dns-prefetch-control")).toBe("off");
      const policy = response?.headers.get("content-security-policy") ?? "";
      expect(policy).toContain("default-src 'none'; script-src 'self'; style-src 'self'");
      expect(policy).not.toMatch(/unsafe|https?:|\*/);
    }
  });

  it("are kept for long where their name has their hash in it, and compressed if wanted", async () => {
    const plain = await ask("/assets/main-1a2b.js");
    expect(plain?.headers.get("cache-control")).toContain("immutable");
    expect([await plain?.text(), plain?.headers.get("content-encoding")]).toEqual(["run()", null]);
    const zipped = await ask("/assets/main-1a2b.js", { "accept-encoding": "br, gzip" });
    const bytes = new Uint8Array((await zipped?.arrayBuffer()) ?? new ArrayBuffer(0));
    expect(gunzipSync(bytes).toString()).toBe("run()");
    const refused = await ask("/assets/main-1a2b.js", { "accept-encoding": "gzip;q=0" });
    expect(refused?.headers.get("content-encoding")).toBe(null);
  });

  it("are those of the folder that a page has, and no others", async () => {
    const paths = [
      "/assets/other.js",
      "/assets/none",
      "/notes.txt",
      "/../secret.js",
      "/%2e%2e/secret.js",
    ];
    for (const path of paths) expect([path, await ask(path)]).toEqual([path, undefined]);
  });

  it("need no token, while everything else still does, and keep their own policy", async () => {
    await using opened = await openServer({ staticFiles: files });
    const page = await opened.send({ path: "/runs", headers: { authorization: undefined } });
    expect([page.status, page.text]).toEqual([200, "<p>page</p>"]);
    expect(page.headers["content-security-policy"]).toContain("script-src 'self'");
    expect(page.headers["x-content-type-options"]).toBe("nosniff");
    const api = await opened.send({
      path: "/api/v1/things",
      headers: { authorization: undefined },
    });
    expect(api.status).toBe(401);
    const none = await opened.send({
      path: "/assets/gone.js",
      headers: { authorization: undefined },
    });
    expect(none.status).toBe(404);
    const other = { authorization: undefined, host: "evil.example" };
    expect((await opened.send({ path: "/", headers: other })).status).toBe(421);
  });
});
