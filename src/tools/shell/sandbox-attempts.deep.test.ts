import { type ChildProcess, spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { once } from "node:events";
import {
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { createServer as createHttpServer, type Server as HttpServer } from "node:http";
import { type AddressInfo, createServer, type Server } from "node:net";
import { dirname, join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { ofType, openEngine, testProfile } from "../../testing/engine-fixture.ts";
import { until } from "../../testing/until.ts";
import { systemCallFilter } from "../../workspaces/sandbox/system-call-filter.ts";
import { attemptsOn } from "./sandbox-attempts.test-support.ts";
import { countProcesses, machine, whySkipped } from "./shell-fixture.test-support.ts";
import { createShellTool } from "./shell-tool.ts";

const canary = "sk-canary-1234567890";
const isContained = machine.isUsable && systemCallFilter() !== undefined;
const hasPython = existsSync("/usr/bin/python3");

/** A server outside of the sandbox that counts what reaches it. */
async function countingServer(where: number | string): Promise<{ server: Server; hits: number }> {
  const counted = { hits: 0, server: createServer() };
  counted.server.on("connection", (socket) => {
    counted.hits += 1;
    socket.on("error", () => undefined).end("HTTP/1.1 200 OK\r\n\r\nSECRET");
  });
  if (typeof where === "number") counted.server.listen(where, "127.0.0.1");
  else counted.server.listen(where);
  await once(counted.server, "listening");
  onTestFinished(() => void counted.server.close());
  return counted;
}

const portOf = (server: Server | HttpServer) => (server.address() as AddressInfo).port;

/** Everything outside of the workspace, with contents; the databases of Mandate itself change. */
function snapshot(base: string): string {
  const hash = createHash("sha256");
  for (const folder of ["outside", ".ssh", ".bashrc"]) {
    const place = join(base, folder);
    const entries =
      existsSync(place) && statSync(place).isDirectory()
        ? readdirSync(place, { recursive: true, encoding: "utf8" }).map((each) => join(place, each))
        : [place];
    for (const entry of entries.sort()) {
      const status = lstatSync(entry, { throwIfNoEntry: false });
      hash.update(`${entry}\0${status?.mode}\0${status?.nlink}\0`);
      if (status?.isFile()) hash.update(readFileSync(entry));
    }
  }
  return hash.digest("hex");
}

describe.skipIf(!isContained || !hasPython)(`from inside the sandbox${whySkipped}`, () => {
  it("no attempt has an effect outside, and no process is left", { timeout: 300_000 }, async () => {
    const marker = `mandate-attempt-${process.pid}`;
    const tcp = await countingServer(0);
    const abstract = await countingServer(`\0mandate-${process.pid}`);
    const seen: string[] = [];
    const web = createHttpServer((asked, answer) => {
      seen.push(`${asked.headers.host} ${asked.url}`);
      answer.end(asked.headers.host?.startsWith("granted.test:") ? "hello" : "SECRET");
    }).listen(0, "127.0.0.1");
    await once(web, "listening");
    onTestFinished(() => void web.close());
    const victim: ChildProcess = spawn("sleep", ["1000"], { detached: true, stdio: "ignore" });
    onTestFinished(() => void victim.kill("SIGKILL"));
    const addresses: Readonly<Record<string, readonly string[]>> = {
      "granted.test": ["127.0.0.1"],
      "flip.test": ["127.0.0.1"],
      "mixed.test": ["93.184.215.14", "127.0.0.1"],
    };
    const asked: string[] = [];
    const shell = createShellTool({
      ...{ sandbox: machine, environment: { ...process.env, ANTHROPIC_API_KEY: canary } },
      ...{ network: true, limits: { processes: 200, memoryMb: 600 } },
      allowPrivate: [`granted.test:${portOf(web)}`],
      lookup: async (host) => {
        asked.push(host);
        return (addresses[host] ?? []).map((address) => ({ address, family: 4 }));
      },
    });
    onTestFinished(() => shell.close());
    const network = [`granted.test:${portOf(web)}`, "flip.test", "mixed.test"];
    let commands: readonly { readonly name: string; readonly command: string }[] = [];
    await using mandate = await openEngine({
      profiles: [testProfile("a", { tools: ["shell"], network })],
      tools: [shell.tool],
      // What it reads would close its way out.
      config: { network: { allow: "*", waysOut: ["shell"], allowPrivate: [] } },
      model: ({ caller }) => {
        const attempt = commands[caller.turn - 1];
        const input = { command: attempt?.command, timeout_ms: 60_000 };
        return attempt === undefined ? "done" : { calls: [{ tool: "shell", input }] };
      },
    });
    const { workspace } = mandate;
    const base = dirname(workspace);
    for (const [path, text] of [
      ["outside/secret.txt", canary],
      [".ssh/id_ed25519", canary],
      [".bashrc", "# mine\n"],
    ] as const) {
      mkdirSync(dirname(join(base, path)), { recursive: true });
      writeFileSync(join(base, path), text);
    }
    const unix = await countingServer(join(workspace, "host.sock"));
    const before = snapshot(base);
    const attempts = attemptsOn({
      ...{ base, marker, victim: victim.pid ?? 0, abstract: `mandate-${process.pid}` },
      ...{ tcp: portOf(tcp.server), granted: portOf(web) },
    });
    commands = attempts;
    expect(attempts.length).toBeGreaterThanOrEqual(40);

    const { events, result } = await mandate.run({ task: "go", profile: "a", workspace });

    expect(result).toMatchObject({ status: "completed" });
    const answers = events.flatMap((event) =>
      event.type === "agent.tool_completed"
        ? [event.payload.output]
        : event.type === "agent.tool_failed"
          ? [event.payload.error]
          : [],
    );
    expect(ofType(events, "agent.tool_started")).toHaveLength(attempts.length);
    const escapes = answers.flatMap((said, index) =>
      /ESCAPED|sk-canary|SECRET/.test(said) ? [`${attempts[index]?.name}: ${said}`] : [],
    );
    expect(escapes).toEqual([]);
    // A program that is missing, or a mistake in an attempt, would hold as well.
    for (const [index, said] of answers.entries()) {
      const { name } = attempts[index] ?? {};
      expect([name, said]).not.toEqual([name, expect.stringMatching(/SyntaxError|NameError/)]);
    }
    expect(snapshot(base)).toBe(before);
    expect([tcp.hits, unix.hits, abstract.hits]).toEqual([0, 0, 0]);
    expect(seen.filter((each) => !each.startsWith("granted.test:"))).toEqual([]);
    expect(seen.filter((each) => each.includes("secret"))).toEqual([]);
    expect(asked).not.toContain("evil.test");
    expect(victim.exitCode ?? victim.signalCode).toBeNull();
    expect(existsSync(join(workspace, ".git/hooks/pre-commit"))).toBe(false);
    expect(answers.filter((said) => said.includes("MB of memory"))).toHaveLength(2);
    await until("nothing is left", () => countProcesses(marker) === 0);
    const refused = events.flatMap((event) =>
      event.type === "agent.tool_completed" || event.type === "agent.tool_failed"
        ? (event.payload.connections ?? [])
        : [],
    );
    const rules = new Set(refused.map((each) => each.refused));
    for (const rule of ["host_not_granted", "address_not_public", "host_mismatch"]) {
      expect([...rules]).toContain(rule);
    }
  });
});
