import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, beforeEach, expect, test } from "vitest";
// Loaded by the command when it is called; here before, so that no test waits for it.
import "../../http/serve-runtime.ts";
import { Desk, type Typing, until } from "../desk.test-support.ts";
import { hasBrowser } from "./serve-demo.ts";

let desk: Desk;
const servers: Server[] = [];

beforeEach(() => {
  desk = new Desk();
});

afterEach(() => {
  desk.clear();
  for (const server of servers.splice(0)) server.close();
});

/** An Ollama where it usually is cannot be hidden: whoever names another place has chosen it. */
const nowhere = {
  LMSTUDIO_BASE_URL: "127.0.0.1:1",
  LLAMACPP_BASE_URL: "127.0.0.1:1",
  VLLM_BASE_URL: "127.0.0.1:1",
};

function start(speed: number, ...words: readonly string[]): Typing {
  const environment = { MANDATE_HOME: desk.home, XDG_CONFIG_HOME: desk.home, ...nowhere };
  return desk.start(["demo", "--serve", "--speed", String(speed), ...words], { environment });
}

async function addressIn(typing: Typing): Promise<{ url: string; path: string; code: string }> {
  await until(() => typing.soFar().err.includes("#code="), "an address");
  const found = /(http:\/\/127\.0\.0\.1:\d+)(\/runs\/r\w+)#code=([\w-]+)/.exec(typing.soFar().err);
  const [, url = "", path = "", code = ""] = found ?? [];
  return { url, path, code };
}

/** As the page does it; undefined: the code does not count. */
async function signIn(url: string, code: string): Promise<string | undefined> {
  const response = await fetch(`${url}/api/v1/page-session`, {
    method: "POST",
    headers: { "content-type": "application/json", origin: url },
    body: JSON.stringify({ code }),
  });
  return response.ok ? response.headers.get("set-cookie")?.split(";")[0] : undefined;
}

test("the page is open while it works, shows how it ended, and stays until Ctrl-C", async () => {
  const typing = start(10, "--port", "0");
  const { code, path, url } = await addressIn(typing);
  const cookie = (await signIn(url, code)) ?? "";
  expect(await signIn(url, code)).toBeUndefined();
  const read = async (about: string): Promise<{ state: string }> => {
    const headers = { cookie, "sec-fetch-site": "same-origin" };
    return (await (await fetch(`${url}/api/v1${about}`, { headers })).json()) as never;
  };
  expect(await read(path)).toMatchObject({ state: "running", application: "demo" });
  await until(() => typing.soFar().out.includes("Next "), "the end of the demonstration");
  expect(await read(path)).toMatchObject({ state: "succeeded" });
  expect(await read("/system")).toMatchObject({ models: { default: "scripted/playbook" } });
  const { out } = typing.soFar();
  expect(out).toMatch(/✓ verified: \d+ events/);
  expect(out).toContain(`Dashboard  ${url}${path}#code=`);
  expect(out).toMatch(/Next +(ANTHROPIC_API_KEY=…|MANDATE_MODEL=ollama\S+) mandate serve\n/);
  const { port } = new URL(url);
  expect(out).toContain(`MANDATE_HOME=${desk.home}/demo mandate serve --link --port ${port}`);
  typing.signal("SIGINT");
  expect((await typing.done).code).toBe(0);
  await expect(fetch(url)).rejects.toThrow();
});

test("a port that is taken is left alone, and the next one told", async () => {
  const other = createServer().on("error", () => undefined);
  servers.push(other);
  await new Promise<void>((resolve) => {
    other.once("error", () => resolve()).listen(4848, "127.0.0.1", resolve);
  });
  const typing = start(50);
  const { url } = await addressIn(typing);
  const { port } = new URL(url);
  expect(Number(port)).toBeGreaterThan(4848);
  expect(typing.soFar().err).toContain(`Port 4848 is in use, so the dashboard is at ${port}.`);
  await until(() => typing.soFar().out.includes("Next "), "the end of the demonstration");
  typing.signal("SIGTERM");
  expect((await typing.done).code).toBe(0);
  const asked = createServer();
  servers.push(asked);
  await new Promise<void>((resolve) => asked.listen(0, "127.0.0.1", resolve));
  const taken = String((asked.address() as AddressInfo).port);
  const refused = await desk.type(["demo", "--serve", "--port", taken]);
  expect([refused.code, refused.err]).toEqual([2, expect.stringContaining(`Port ${taken}`)]);
  const alone = await desk.type(["demo", "--port", "0"]);
  expect([alone.code, alone.err]).toEqual([2, expect.stringContaining("goes with --serve")]);
});

test("stopped in the middle it ends well, and the next start goes on where it was", async () => {
  const first = start(5, "--port", "0");
  await until(() => first.soFar().err.includes("created as coder"), "children");
  first.signal("SIGTERM");
  const { code, out } = await first.done;
  expect([code, out]).toEqual([0, ""]);
  const again = start(50, "--port", "0");
  await until(() => again.soFar().out.includes("Next "), "the end of the demonstration");
  expect(again.soFar().err).toMatch(/was interrupted and continues where it stopped/);
  again.signal("SIGINT");
  expect((await again.done).code).toBe(0);
});

test("Enter gives another address, and what answers on this machine is offered", async () => {
  const data = [{ id: "nomic-embed-text" }, { id: "qwen3:8b" }];
  const studio = createServer((_, response) => response.end(JSON.stringify({ data })));
  servers.push(studio);
  await new Promise<void>((resolve) => studio.listen(0, "127.0.0.1", resolve));
  const { port } = studio.address() as AddressInfo;
  let press: (line: string) => void = () => undefined;
  const typing = desk.start(["demo", "--serve", "--speed", "50", "--port", "0"], {
    environment: {
      MANDATE_HOME: desk.home,
      ...nowhere,
      LMSTUDIO_BASE_URL: `127.0.0.1:${port}`,
    },
    ask: (_prompt, signal) =>
      new Promise((resolve, reject) => {
        press = resolve;
        signal.addEventListener("abort", () => reject(signal.reason));
      }),
  });
  await until(() => typing.soFar().out.includes("Next "), "the end of the demonstration");
  expect(typing.soFar().out).toMatch(/MANDATE_MODEL=(lmstudio\/qwen3:8b|ollama\S+) mandate serve/);
  expect(typing.soFar().out).toContain("Enter gives another");
  const links = () => typing.soFar().out.match(/#code=[\w-]+/g) ?? [];
  expect(links()).toHaveLength(1);
  press("");
  await until(() => links().length === 2, "another address");
  expect(new Set(links()).size).toBe(2);
  typing.signal("SIGINT");
  expect((await typing.done).code).toBe(0);
});

test("a browser is opened unasked only where somebody sits at a screen", () => {
  const at = (
    isTerminal: boolean,
    environment: Record<string, string>,
    platform: NodeJS.Platform,
  ) =>
    hasBrowser(
      {
        environment,
        stdout: {
          isTerminal,
          columns: 80,
          rows: 24,
          write: () => undefined,
          writeExact: () => undefined,
        },
      },
      platform,
    );
  expect(at(true, { DISPLAY: ":0" }, "linux")).toBe(true);
  expect(at(true, { WAYLAND_DISPLAY: "wayland-0" }, "linux")).toBe(true);
  expect(at(true, {}, "darwin")).toBe(true);
  expect(at(true, {}, "linux")).toBe(false);
  expect(at(false, { DISPLAY: ":0" }, "linux")).toBe(false);
  for (const elsewhere of [{ CI: "true" }, { SSH_CONNECTION: "a b" }, { BROWSER: "none" }]) {
    expect(at(true, { DISPLAY: ":0", ...elsewhere }, "linux")).toBe(false);
    expect(at(true, { ...elsewhere }, "darwin")).toBe(false);
  }
});
