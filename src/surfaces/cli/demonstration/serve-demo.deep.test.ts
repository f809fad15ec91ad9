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

async function addressIn(typing: Typing): Promise<{ link: string; url: string; code: string }> {
  await until(() => typing.soFar().err.includes("#code="), "an address");
  const found = /(http:\/\/127\.0\.0\.1:\d+)\/#code=([\w-]+)/.exec(typing.soFar().err);
  const [link = "", url = "", code = ""] = found ?? [];
  return { link, url, code };
}

/** As the page does it: its cookie, and the page that it begins with. */
async function signIn(url: string, code: string) {
  const response = await fetch(`${url}/api/v1/page-session`, {
    method: "POST",
    headers: { "content-type": "application/json", origin: url },
    body: JSON.stringify({ code }),
  });
  const { path } = (await response.json()) as { path: string };
  return { cookie: response.headers.get("set-cookie")?.split(";")[0] ?? "", path };
}

test("the page is open while it works, shows how it ended, and stays until Ctrl-C", async () => {
  const typing = start(10, "--port", "0");
  const { code, link, url } = await addressIn(typing);
  expect(link.length).toBeLessThan(60);
  const { cookie, path } = await signIn(url, code);
  expect(path).toMatch(/^\/runs\/r\w+$/);
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
  // One address, until the server ends.
  expect(out).toContain(`Dashboard  ${link}\n`);
  expect((await signIn(url, code)).path).toBe(path);
  expect(out).toMatch(/Next +(ANTHROPIC_API_KEY=…|MANDATE_MODEL=ollama\S+) mandate serve\n/);
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

test("what answers on this machine is offered as the next step", async () => {
  const data = [{ id: "nomic-embed-text" }, { id: "qwen3:8b" }];
  const studio = createServer((_, response) => response.end(JSON.stringify({ data })));
  servers.push(studio);
  await new Promise<void>((resolve) => studio.listen(0, "127.0.0.1", resolve));
  const { port } = studio.address() as AddressInfo;
  const typing = desk.start(["demo", "--serve", "--speed", "50", "--port", "0"], {
    environment: {
      MANDATE_HOME: desk.home,
      ...nowhere,
      LMSTUDIO_BASE_URL: `127.0.0.1:${port}`,
    },
  });
  await until(() => typing.soFar().out.includes("Next "), "the end of the demonstration");
  expect(typing.soFar().out).toMatch(/MANDATE_MODEL=(lmstudio\/qwen3:8b|ollama\S+) mandate serve/);
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
