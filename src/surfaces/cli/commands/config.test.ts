import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { Desk } from "../desk.test-support.ts";

let desk: Desk;

beforeEach(() => {
  desk = new Desk();
});

afterEach(() => desk.clear());

function writeOwn(text: string): void {
  mkdirSync(join(desk.home, "mandate"), { recursive: true });
  writeFileSync(join(desk.home, "mandate", "config.yaml"), text);
}

test("each setting is listed with its value and where it comes from, and no file is created", async () => {
  writeOwn("limits:\n  maxChildren: 7\n");
  const environment = { MANDATE_HOME: join(desk.home, "none"), MANDATE_MODEL: "openai/gpt-6" };
  const { out } = await desk.type(["config", "--json"], { environment });
  expect(JSON.parse(out)).toMatchObject({
    "limits.maxChildren": {
      value: 7,
      source: expect.stringMatching(/mandate\/config\.yaml:2$/),
    },
    "models.default": { value: "openai/gpt-6", source: "environment" },
    "limits.runTokens": { value: 1_000_000, source: "default" },
  });
  const { out: table } = await desk.type(["config"], { environment });
  expect(table).toMatch(/\nlimits\.maxChildren +\S+config\.yaml:2 +7\n/);
  expect(existsSync(environment.MANDATE_HOME)).toBe(false);
});

test("one value is printed for scripts; an unset one exits with 1, an unknown one names the nearest", async () => {
  const get = (key: string) => desk.type(["config", "get", key]);
  expect(await get("limits.runTokens")).toMatchObject({ code: 0, out: "1000000\n" });
  expect(JSON.parse((await get("limits")).out)).toMatchObject({ maxChildren: 200 });
  expect(await get("models.default")).toMatchObject({ code: 1, out: "" });
  for (const key of ["limits.runToken", "__proto__", "limits.constructor", ""]) {
    expect(await get(key), key).toMatchObject({ code: 2, out: "" });
  }
  expect((await get("limits.runToken")).err).toContain("Did you mean limits.runTokens?");
});

test("keys, headers and passwords are not shown in any form", async () => {
  writeOwn(`models:
  providers:
    office: { kind: openai-compatible, baseUrl: "http://u:sekret@127.0.0.1:1/v1?key=sekret", apiKey: sekret, headers: { x-key: sekret } }
mcp:
  servers:
    files: { command: "npx --token sekret", kind: stdio, env: { TOKEN: sekret } }
    docs: { kind: http, url: "https://sekret@docs.example/mcp?sekret#sekret" }
integration: { checks: ["API_KEY=sekret npm test", "npm test"] }
`);
  const environment = { MANDATE_DATABASE_URL: "postgres://mandate:sekret@127.0.0.1/x" };
  for (const words of [
    ["list"],
    ["list", "--json"],
    ["get", "models.providers.office"],
    ["get", "models.providers.office.apiKey"],
    ["get", "mcp.servers"],
    ["get", "integration.checks"],
    ["get", "database.url"],
  ]) {
    const { code, err, out } = await desk.type(["config", ...words], { environment });
    expect([code, err]).toEqual([0, ""]);
    expect(out).toContain("hidden");
    expect(out).not.toContain("sekret");
  }
});

test.each([
  "postgres://mandate:sekret@/mandate?host=/var/run/postgresql",
  "postgres://mandate:sekret@h1:5432,h2:5432/db",
  "postgres:mandate:sekret@h1/db",
  "postgres:///db?password=sekret",
  "host=h1 password = sekret",
])("the password in %s is not shown, though no parser reads it", async (url) => {
  writeOwn(`database: { url: ${JSON.stringify(url)} }\n`);
  for (const words of [["list"], ["get", "database"], ["get", "database.url"]]) {
    const { out } = await desk.type(["config", ...words]);
    expect(out).toContain("hidden");
    expect(out).not.toContain("sekret");
  }
  writeOwn("");
  const { out, err } = await desk.type(["config"], { environment: { MANDATE_DATABASE_URL: url } });
  expect(out + err).not.toContain("sekret");
});

test("path names the files, and says which have no effect", async () => {
  const file = desk.write("mandate.yaml", "limits: { maxChildren: 3 }\n");
  const waiting = await desk.type(["config", "path"]);
  expect(waiting.out).toContain(`configuration  ${file} (not trusted: no effect)`);
  expect((await desk.type(["config", "get", "limits.maxChildren"])).out).toBe("200\n");
  await desk.type(["profiles", "trust", file]);
  expect((await desk.type(["config", "path"])).out).toContain(`${file} (used)`);
  const { out } = await desk.type(["config", "--json"]);
  expect(JSON.parse(out)["limits.maxChildren"]).toEqual({ value: 3, source: file });
});
