import { existsSync, mkdirSync, readFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
// Loaded by the command when it is called; here before, so that no test waits for it.
import "../../http/serve-runtime.ts";
import { until as untilTrue } from "../../../testing/until.ts";
import { Desk, type Typing, until } from "../desk.test-support.ts";

let desk: Desk;
beforeEach(() => {
  desk = new Desk();
});
afterEach(() => desk.clear());

const playbook = `version: 1
name: quiet
replies:
  - when: { task: write, turn: 1 }
    calls: [{ tool: write_file, input: { path: note.txt, content: hello } }]
  - when: { task: slow }
    latency_ms: 600000
    text: Late.
  - text: done
`;

async function start(...words: readonly string[]): Promise<Typing & { readonly url: string }> {
  const file = desk.write("playbook.yaml", playbook);
  const consents = !words.includes("--workspace");
  const typing = desk.start(["serve", "--port", "0", "--playbook", file, ...words], { consents });
  await Promise.race([
    until(() => typing.soFar().out.includes("The token is"), "listening"),
    typing.done.then(({ err }) => Promise.reject(new Error(err))),
  ]);
  const [url = ""] = /http:\/\/\S+/.exec(typing.soFar().out) ?? [];
  return { ...typing, url };
}

const tokenOf = (): string => readFileSync(`${desk.home}/tokens`, "utf8").trim();

describe("mandate serve", () => {
  it("serves those who have the token, does not show it, and ends with a signal", async () => {
    const served = await start();
    const headers = { authorization: `Bearer ${tokenOf()}` };
    const health = await fetch(`${served.url}/api/v1/health`, { headers });
    expect([health.status, await health.json()]).toMatchObject([200, { ok: true }]);
    expect((await fetch(`${served.url}/api/v1/health`)).status).toBe(401);
    expect((await fetch(`${served.url}/metrics`, { headers })).status).toBe(200);
    const { out } = served.soFar();
    expect(out).toContain(`The token is in ${desk.home}/tokens (mandate token show)`);
    expect(out).not.toContain(tokenOf());
    served.signal("SIGTERM");
    const { code, err } = await served.done;
    expect(code).toBe(0);
    const codes = err
      .split("\n")
      .filter(Boolean)
      .map((line) => JSON.parse(line)["code"]);
    expect(codes).toEqual(["server_started", "server_stopping"]);
    await expect(fetch(`${served.url}/api/v1/health`, { headers })).rejects.toThrow();
  });

  it("shows the token to who asks for it, and leaves at once with the second signal", async () => {
    const served = await start("--print-token");
    expect(served.soFar().out).toContain(tokenOf());
    served.signal("SIGINT");
    served.signal("SIGINT");
    expect(served.left).toEqual([130]);
    await served.done;
  });

  it("works in the folders that it names, as far as the person answered, and remembers none", async () => {
    const [named, closed] = ["named", "closed"].map((name) => join(desk.folder, name)) as [
      string,
      string,
    ];
    for (const folder of [named, closed]) mkdirSync(folder);
    await desk.type(["folders", "set", "read-only", closed]);
    const served = await start("--workspace", named, "--workspace", closed);
    const headers = { authorization: `Bearer ${tokenOf()}`, "content-type": "application/json" };
    const run = async (workspace: string) => {
      const body = JSON.stringify({ task: "write", profile: "coder", workspace, wait: 20_000 });
      const sent = await fetch(`${served.url}/api/v1/runs`, { method: "POST", headers, body });
      return sent.status;
    };
    expect([await run(named), await run(closed), await run(desk.folder)]).toEqual([201, 201, 403]);
    served.signal("SIGTERM");
    await served.done;
    expect(existsSync(join(named, "note.txt"))).toBe(true);
    expect(existsSync(join(closed, "note.txt"))).toBe(false);
    const { out } = await desk.type(["folders", "--json"]);
    expect(JSON.parse(out)).toMatchObject([{ folder: closed }]);
  });

  it("recovers the runs that another process left, when it starts", async () => {
    const file = desk.write("playbook.yaml", playbook);
    const left = desk.start(["run", "--playbook", file, "slow"]);
    await until(() => left.soFar().err.includes("created as general"), "the run");
    left.signal("SIGTERM");
    await left.done;
    const served = await start("--speed", "1000000");
    const states = async (): Promise<readonly string[]> => {
      const runs = JSON.parse((await desk.type(["ls", "--json"])).out);
      return runs.map(({ state }: { state: string }) => state);
    };
    await untilTrue("it succeeds", async () => (await states()).join() === "succeeded");
    served.signal("SIGTERM");
    const { err } = await served.done;
    expect(err).toMatch(
      /"level":"info","run":"(r\w+)","code":"run_recovered","message":"\1 was interrupted and continues/,
    );
  });

  it("needs --force for the home folder, whether it is named or not", async () => {
    const environment = { HOME: desk.folder, MANDATE_PLAYBOOK: desk.write("p.yaml", playbook) };
    for (const words of [["--workspace", "."], ["--trust-folder"], []]) {
      const typed = { environment, consents: false };
      const refused = await desk.type(["serve", "--port", "0", ...words], typed);
      expect(refused).toMatchObject({ code: 3, err: expect.stringContaining("--force") });
    }
  });

  it("gives the address of the page of the server that runs, which works until it ends", async () => {
    const served = await start();
    const { port } = new URL(served.url);
    const asked = await desk.type(["serve", "--link", "--port", port]);
    const [, code] = /^http:\/\/127\.0\.0\.1:\d+\/#code=([\w-]+)\n$/.exec(asked.out) ?? [];
    const typed = expect.stringMatching(
      /^Or type this code on the sign-in page: [0-9A-Z]{5}-[0-9A-Z]{5} \(once, for 10 min\)\n$/,
    );
    expect([asked.code, asked.err, code]).toEqual([0, typed, expect.any(String)]);
    const exchange = () =>
      fetch(`${served.url}/api/v1/page-session`, {
        method: "POST",
        headers: { "content-type": "application/json", origin: served.url },
        body: JSON.stringify({ code }),
      });
    expect([(await exchange()).status, (await exchange()).status]).toEqual([200, 200]);
    const again = await desk.type(["serve", "--port", port, "--playbook", "playbook.yaml"]);
    expect(again.code).toBe(2);
    expect(again.err).toContain(`Port ${port} is already in use.\nMandate is running there`);
    expect(again.err).toContain(`mandate serve --link --port ${port}`);
    served.signal("SIGTERM");
    await served.done;
    const gone = await desk.type(["serve", "--link", "--port", port]);
    expect([gone.code, gone.err]).toEqual([2, expect.stringContaining("No server answers")]);
  });

  it("sends no token to a program that looks like it, not even to one that passes on its proof", async () => {
    const served = await start();
    const seen: unknown[] = [];
    const other = createServer(async ({ headers, url = "" }, response) => {
      seen.push(headers.authorization);
      const passed = Object.entries({ ...headers, origin: served.url, host: undefined });
      const sent = passed.filter((header): header is [string, string] => header[1] !== undefined);
      const kept = sent.filter(([name]) => name !== "connection");
      const answer = await fetch(served.url + url, { headers: Object.fromEntries(kept) });
      const body = { url: "http://evil.example/\u001b]0;x\u0007", code: "x" };
      const proof = url.endsWith("page-session") ? await answer.json() : {};
      response.writeHead(201, { "www-authenticate": 'Bearer realm="mandate"' });
      response.end(JSON.stringify({ ...body, ...(proof as object) }));
    });
    await new Promise<void>((listening) => other.listen(0, "127.0.0.1", listening));
    const port = String((other.address() as AddressInfo).port);
    const asked = await desk.type(["serve", "--link", "--port", port]);
    expect(asked).toMatchObject({ code: 2, out: "" });
    expect(asked.err).toContain("did not prove");
    const again = await desk.type(["serve", "--port", port, "--playbook", "playbook.yaml"]);
    expect(again.err).toContain(`Port ${port} is already in use.\nTo use another port`);
    expect(seen).toEqual([undefined, undefined]);
    other.closeAllConnections();
    other.close();
    served.signal("SIGTERM");
    await served.done;
  });

  it("refuses to be reached by others who were not named, and what it cannot serve", async () => {
    for (const [words, says] of [
      [["--host", "0.0.0.0"], /--allow-host NAME/],
      [["--host", "::"], /--allow-host NAME/],
      [["--host", "127.0.0.1.evil.example"], /--allow-host NAME/],
      [["--allow-host", "http://x"], /--allow-host takes a name/],
      [["--allow-host", "*"], /--allow-host takes a name/],
      [["--port", "70000"], /--port takes a number/],
      [["--port", "x"], /--port takes a number/],
      [["--workspace", "missing"], /missing does not exist/],
    ] as const) {
      const { code, err } = await desk.type(["serve", ...words]);
      expect([words, code]).toEqual([words, 2]);
      expect(err).toMatch(says);
    }
  });
});
